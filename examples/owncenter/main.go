// Owncenter leases worker ids from a service that snowlease does not support, through a
// center of its own. The service here stores objects over HTTP.
//
//	go run ./examples/owncenter                     # with the service in the process
//	go run ./examples/owncenter -listen :9000 -n 0  # the service alone, until Ctrl-C
//	go run ./examples/owncenter -url http://127.0.0.1:9000
//
// An application writes only center.go; service.go stands in for its service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "owncenter:", err)
		os.Exit(1)
	}
}

// run prints the worker id and n ids.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("owncenter", flag.ContinueOnError)
	url := flags.String("url", "", "URL of the service (default: one in this process)")
	listen := flags.String("listen", "127.0.0.1:0", "address of the service in this process")
	n := flags.Int("n", 5, "number of ids to print; 0 serves until Ctrl-C")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *url == "" {
		address, closer, err := serve(ctx, *listen)
		if err != nil {
			return err
		}
		defer closer()
		*url = "http://" + address
		if *n == 0 {
			fmt.Fprintln(out, *url)
			<-ctx.Done()
			return nil
		}
	}
	var worker *idworker.IdWorker
	app := fx.New(wiring(bucket{*url, http.DefaultClient}), fx.NopLogger, fx.Populate(&worker))
	starting, cancel := context.WithTimeout(ctx, fx.DefaultTimeout)
	defer cancel()
	if err := app.Start(starting); err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), fx.DefaultTimeout)
		defer cancel()
		err = errors.Join(err, app.Stop(stopping))
	}()
	fmt.Fprintln(out, "worker", worker.Status().Worker)
	for range *n {
		id, err := worker.NextIDWait(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, id)
	}
	return nil
}

// wiring is the application. idworker uses the provided lease.Center. The short MaxTTL
// limits how far ahead ids run after the first start on an empty service.
func wiring(b bucket) fx.Option {
	return fx.Options(
		fx.Supply(idworker.Config{
			Namespace: "orders",
			Lease:     idworker.LeaseConfig{TTL: 3 * time.Second, MaxTTL: 3 * time.Second, Renew: "@every 1s"}, Store: idworker.StoreConfig{Skew: 500 * time.Millisecond},
		}),
		fx.Provide(
			func() lease.Center { return casstore.New(b) },
			func() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) },
		),
		idworker.Module,
	)
}

// serve runs the service and returns its address and a function that stops it.
func serve(ctx context.Context, address string) (string, func(), error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: newService(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // ends with Close
	}()
	return listener.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}
