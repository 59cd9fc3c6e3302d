// Fxapp is an order service that shows snowlease in an fx application. Its GORM models
// have no code for ids: their keys are snowflake ids with a leased worker id.
//
//	go run ./examples/fxapp                         # SQLite in fxapp.db, HTTP on 127.0.0.1:8080
//	go run ./examples/fxapp -once                   # insert and print a few orders, then exit
//	go run ./examples/fxapp -listen 127.0.0.1:8081  # a second copy, with another worker id
//	go run ./examples/fxapp -mode redis             # worker ids from an embedded Redis
//	go run ./examples/fxapp -mode redis-sequence    # ids counted by an embedded Redis
//	go run ./examples/fxapp -mode local             # a worker id of this host, no center
//	go run ./examples/fxapp -dsn 'app:word@tcp(127.0.0.1:3306)/shop'
//	go run ./examples/fxapp -mode redis -redis 127.0.0.1:6379
//
// The flag -help lists the flags, config.example.yaml has every key, orders.go stores
// orders, and handlers.go lists the HTTP endpoints. Ctrl-C returns the worker id. The first start on a new database
// takes two seconds, and its ids carry times up to 30 s ahead of the clock, because the
// database may have lost records of earlier grants.
package main

import (
	"cmp"
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
	_ "time/tzdata" // the image has no time zones

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/providers"
)

func main() {
	logging.Disable() // go-redis logs errors that it also returns
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, cancel) // a second Ctrl-C kills the process
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fxapp:", err)
		os.Exit(1)
	}
}

// wiring returns the application. Modules start in this order and stop in reverse.
func wiring(cfg config, out io.Writer, log *slog.Logger) fx.Option {
	listening, serving := fx.Options(), fx.Options()
	if !cfg.Once { // fx invokes the functions of modules in order, before functions outside modules
		listening, serving = fx.Module("ports", fx.Provide(listen), fx.Invoke(func(*ports) {})), fx.Invoke(serve)
	}
	return fx.Options(
		fx.Supply(cfg, cfg.Providers, cfg.IDWorker, cfg.GORMPlugin, log, fx.Annotate(out, fx.As(new(io.Writer)))),
		fx.Provide(newStore, newHandlers),
		providers.Module, // *gorm.DB and redis.UniversalClient
		listening,
		idworker.Module, // *idworker.IdWorker and *idworker.Numbers
		idworker.GORM,   // fills primary keys; must precede every module that writes
		fx.Invoke(createTables, insertSamples),
		serving,
	)
}

// A failure keeps what the constructor that failed returned. The error of the application
// first lists what else fx could not build without it.
type failure struct{ err error }

func (f *failure) LogEvent(event fxevent.Event) {
	if ran, ok := event.(*fxevent.Run); ok {
		f.err = cmp.Or(f.err, errors.Unwrap(ran.Err)) // fx wraps it once
	}
}

// run runs the application until ctx ends or the application shuts itself down.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	cfg, err := load(args, environ, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))
	log.Info("fxapp: starting", "mode", cfg.IDWorker.Mode, "namespace", cfg.IDWorker.Namespace)
	stopRedis, err := cfg.embedRedis(log)
	if err != nil {
		return err
	}
	defer stopRedis()

	var failed failure
	app := fx.New(wiring(cfg, stdout, log), fx.WithLogger(func() fxevent.Logger { return &failed }))
	// Ctrl-C interrupts neither the start nor the stop, so that the worker id is returned.
	background := context.WithoutCancel(ctx)
	starting, cancel := context.WithTimeout(background, cfg.IDWorker.Wait+45*time.Second) // 45 s for the tables
	defer cancel()
	if err := app.Start(starting); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cannot start within %v: a database or Redis does not answer: see the log: %w", cfg.IDWorker.Wait+45*time.Second, err)
	} else if err != nil {
		return fmt.Errorf("cannot start: %w", cmp.Or(failed.err, err))
	}
	if !cfg.Once {
		select {
		case <-ctx.Done():
		case signal := <-app.Wait():
			if signal.ExitCode != 0 {
				err = errors.New("the application shut itself down: see the log")
			}
		}
	}
	log.Info("fxapp: stopping")
	stopping, cancel := context.WithTimeout(background, 15*time.Second)
	defer cancel()
	return errors.Join(err, app.Stop(stopping))
}
