// Command worker is one process of the service that the tests of package fleet run.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/proof/internal/fleet"
)

const (
	life         = 3 * time.Minute
	startTimeout = 90 * time.Second
	stopTimeout  = 30 * time.Second
)

func main() {
	time.AfterFunc(life, func() {
		fmt.Fprintln(os.Stderr, "worker: nobody has ended this process")
		os.Exit(3)
	})
	if err := run(bufio.NewReader(os.Stdin), &reporter{out: json.NewEncoder(os.Stdout)}); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// A reporter writes reports, each by one write.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (r *reporter) tell(report fleet.Report) {
	r.mu.Lock()
	err := r.out.Encode(report)
	r.mu.Unlock()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker: report:", err)
		os.Exit(2) // the tests have ended
	}
}

func run(in *bufio.Reader, r *reporter) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	var order fleet.Order
	if err := json.Unmarshal(line, &order); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	var w *idworker.IdWorker
	app := fx.New(
		fx.NopLogger,
		fx.Supply(order, order.Config, r),
		fx.Provide(func() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }),
		center(order),
		idworker.Module,
		fx.Populate(&w),
	)
	if err := app.Err(); err != nil {
		return err
	}

	r.tell(fleet.Report{Event: fleet.Ready})
	if _, err := in.ReadBytes('\n'); err != nil {
		return nil // the tests have ended before anything began
	}
	starting, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := app.Start(starting); err != nil {
		report := fleet.Report{Event: fleet.Refused, Error: err.Error()}
		if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) {
			report.NoFree, report.Now, report.Soonest = true, full.Now.UnixMilli(), full.Soonest.UnixMilli()
		}
		r.tell(report)
		return nil
	}
	signalled := app.Wait()
	r.tell(fleet.Report{Event: fleet.Started, Worker: w.Status().Worker})

	issued := make(chan result, 1)
	go func() { issued <- issue(w, order) }()
	abandoned := make(chan struct{})
	go func() {
		defer close(abandoned)
		_, _ = io.Copy(io.Discard, in)
	}()
	select {
	case <-signalled:
	case <-abandoned:
	}
	stopping, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err = app.Stop(stopping)
	late := errors.Is(err, context.DeadlineExceeded) // a starved server; the lease ends by itself
	if err != nil && !late {
		return err
	}
	all := <-issued // it issues until the worker has stopped
	if all.err != nil {
		return all.err
	}
	r.tell(fleet.Report{Event: fleet.Done, Issued: all.n, Losses: w.Status().Losses, Late: late})
	return nil
}

// center provides the order's center, if it has one.
func center(order fleet.Order) fx.Option {
	if order.Config.Mode == idworker.ModeLocal {
		return fx.Options()
	}
	return fx.Provide(func(lc fx.Lifecycle, r *reporter) (lease.Center, error) {
		c, closer, err := order.Center()
		if err != nil {
			return nil, err
		}
		lc.Append(fx.StopHook(closer.Close))
		return observed{c, r, order.Forget}, nil
	})
}
