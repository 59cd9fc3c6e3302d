// Fxapp is an order service that shows all of snowlease wired by fx: GORM models
// without a line of id code, whose keys are snowflake ids under a worker id on lease.
//
//	go run ./examples/fxapp                 # SQLite in fxapp.db, HTTP on 127.0.0.1:8080
//	go run ./examples/fxapp -once           # print a few orders and end
//	go run ./examples/fxapp -listen 127.0.0.1:8081    # a copy beside it: another worker id
//	go run ./examples/fxapp -mode redis     # an embedded Redis lends the worker ids
//	go run ./examples/fxapp -mode redis-sequence      # an embedded Redis counts the ids
//	go run ./examples/fxapp -mode local     # no center: a worker id of this host
//	go run ./examples/fxapp -dsn 'app:word@tcp(127.0.0.1:3306)/shop'
//	go run ./examples/fxapp -mode redis -redis 127.0.0.1:6379
//
// config.example.yaml explains every key; -help lists the flags. The service:
//
//	POST /orders        {"customer":{"name":"Ada","email":"ada@example.org"},"items":[{"product":"tea","quantity":2,"price_cents":450}]}
//	GET  /orders        newest first: ?limit= and ?before=ID
//	GET  /orders/{id}
//	GET  /ids?n=        n new ids
//	GET  /ids/{id}      an id taken apart
//	GET  /idworker/     a page that shows the lease, who holds which worker id, and an id's bits
//	GET  /healthz       liveness: never depends on the lease
//	GET  /readyz        503 with the reason while no ids are issued
//
// Ctrl-C gives the worker id back. The first start of all takes some seconds, and its ids
// carry times up to 30 s ahead: an unknown namespace may be one that was lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/dig"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/providers"
)

// wiring is the application. Modules start in this order and stop in the reverse one.
func wiring(cfg config, out io.Writer, log *slog.Logger) fx.Option {
	return fx.Options(
		fx.Supply(cfg, cfg.Providers, cfg.IDWorker, cfg.GORMPlugin, log),
		fx.Provide(newStore, newSocket),
		port(cfg),         // first: a port in use is noticed before anything is borrowed or written
		providers.Module,  // *gorm.DB and, in mode redis, redis.UniversalClient
		idworker.Module,   // *idworker.IdWorker
		gormplugin.Module, // fills primary keys: before every module that writes
		tables,            // creates the tables of the models
		samples(out),      // inserts a few orders and prints them
		server(cfg),       // serves HTTP
	)
}

func main() {
	logging.Disable() // of go-redis: it prints what its errors say as well
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	cancel()
	os.Exit(code)
}

// run is the program until ctx ends, and returns its exit code.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	cfg, err := load(args, environ, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = serve(ctx, cfg, stdout, newLogger(cfg, stderr))
	}
	if err != nil {
		fmt.Fprintln(stderr, "fxapp:", err)
		return 1
	}
	return 0
}

// stopTimeout bounds the stop: requests that run, then the worker id, then the clients.
const stopTimeout = 15 * time.Second

// serve starts the application, waits until ctx ends or the application shuts itself
// down, and stops it.
func serve(ctx context.Context, cfg config, out io.Writer, log *slog.Logger) (err error) {
	log.Info("fxapp: starting", "mode", cfg.IDWorker.Mode, "namespace", cfg.IDWorker.Namespace, "database", cfg.database())
	if cfg.embedsRedis() {
		srv, err := embedRedis(&cfg, log)
		if err != nil {
			return err
		}
		defer srv.Close()
	}
	limit := cfg.startTimeout()
	starting, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the start took longer than %v", limit))
	defer cancel()
	app := fx.New(
		wiring(cfg, out, log),
		fx.Decorate(within(starting)),
		fx.WithLogger(func() fxevent.Logger {
			l := &fxevent.SlogLogger{Logger: log}
			l.UseLogLevel(slog.LevelDebug)
			l.UseErrorLevel(slog.LevelDebug) // the error is printed once, at the end
			return l
		}),
	)
	if err := app.Err(); err != nil {
		return fmt.Errorf("cannot start: %w", dig.RootCause(err))
	}
	// fx rolls a failed start back with the context of the start, so that one must
	// outlast it; what ends the start is starting.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit+stopTimeout)
	defer cancel()
	if err := app.Start(whole); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted while starting: %w", err)
		}
		return fmt.Errorf("cannot start: %w", err)
	}
	code := 0
	if !cfg.Once {
		select {
		case <-ctx.Done():
			log.Info("fxapp: stopping: interrupted")
		case sig := <-app.Wait():
			code = sig.ExitCode
			log.Info("fxapp: stopping", "signal", sig.Signal, "code", code)
		}
	}
	whole, cancel = context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := app.Stop(whole); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	log.Info("fxapp: stopped")
	if code != 0 {
		return fmt.Errorf("shut down with code %d: see the log", code)
	}
	return nil
}

func newLogger(cfg config, w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel}))
}
