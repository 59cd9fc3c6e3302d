// Servers starts a database server of each engine that its arguments name, for all tests of a
// run. It prints the variables that name them, a line each, then ready, and ends the servers
// when its input is closed.
//
//	go run ./internal/test/testserver/servers mariadb postgres redis
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	report := func(err error) { fmt.Fprintln(os.Stderr, "servers:", err) }
	variables, stop, err := testserver.Each(os.Args[1:], report)
	if err != nil {
		report(err)
		os.Exit(1)
	}
	for _, v := range variables {
		fmt.Println(v)
	}
	fmt.Println("ready")
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	select {
	case <-closed:
	case <-signals:
	}
	if err := stop(); err != nil {
		report(err)
		os.Exit(1)
	}
}
