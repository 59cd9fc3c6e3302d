// Performance measures everything and writes docs/design/performance.md.
//
//	go run ./cmd/performance -out ../docs/design   # about ten minutes; make bench does it
//	go run ./cmd/performance -quick                # about two, into a temporary folder
//
// Each sample is a process of its own, and samples of all generators take turns, so
// that whatever else the machine does falls on all of them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	if child() {
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run() error {
	quick := flag.Bool("quick", false, "two minutes, for a first look: the figures are not to be trusted")
	out := flag.String("out", "", "the folder that gets performance.md and performance/; a new temporary one by default")
	from := flag.String("from", "", "write the report of the results in this file, and measure nothing")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flag.Arg(0))
	}
	if *quick && *out != "" {
		return errors.New("-quick is for a look: its report is not for -out")
	}
	if *out == "" {
		dir, err := os.MkdirTemp("", "performance")
		if err != nil {
			return err
		}
		*out = dir
	}
	var results Results
	if *from != "" {
		text, err := os.ReadFile(*from)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &results); err != nil {
			return fmt.Errorf("%s: %w", *from, err)
		}
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		plan := full
		if *quick {
			plan = short
		}
		var err error
		if results, err = plan.run(ctx, os.Stderr); err != nil {
			return err
		}
		if results.Command = "make bench"; *quick {
			results.Command = "go run ./cmd/performance -quick"
		}
	}
	if err := results.write(*out); err != nil {
		return err
	}
	fmt.Println(filepath.Join(*out, "performance.md"))
	return nil
}
