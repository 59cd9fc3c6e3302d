package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

func benchCommand() *cobra.Command {
	var (
		layout   layoutFlags
		duration time.Duration
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure how many ids a second this machine issues",
		Long: `Bench issues ids of one worker in this process, one by one and in batches of 1,000, from
one goroutine and from as many as there are CPUs. A layout bounds the rate as well: what
"snowlease layout" says, and what runs ahead of the clock, which is a second. No store is
asked: none is while a service issues ids.`,
		Example: `  snowlease bench --layout twitter --duration 5s`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := layout.layout()
			if err != nil {
				return err
			}
			if duration < time.Millisecond || duration > time.Hour {
				return fmt.Errorf("--duration %v is not 1ms to 1h", duration)
			}
			rows := [][]string{{"GOROUTINES", "BATCH", "IDS/S", "NS/ID"}}
			for _, c := range []struct{ goroutines, batch int }{{1, 1}, {runtime.GOMAXPROCS(0), 1}, {1, 1000}, {runtime.GOMAXPROCS(0), 1000}} {
				rate, err := measure(cmd.Context(), l, c.goroutines, c.batch, duration)
				if err != nil {
					return failed(err)
				}
				if asJSON {
					if err := printJSON(cmd.OutOrStdout(), map[string]any{
						"layout": l.String(), "goroutines": c.goroutines, "batch": c.batch, "ids_per_second": int64(rate),
					}); err != nil {
						return failed(err)
					}
				}
				rows = append(rows, []string{fmt.Sprint(c.goroutines), fmt.Sprint(c.batch), fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.1f", 1e9/rate)})
			}
			if asJSON {
				return nil
			}
			return failed(printTable(cmd.OutOrStdout(), rows))
		},
	}
	layout.register(cmd)
	cmd.Flags().DurationVar(&duration, "duration", time.Second, "how long to measure each")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// measure returns how many ids a second goroutines get for d.
func measure(ctx context.Context, l snowflake.Layout, goroutines, batch int, d time.Duration) (rate float64, err error) {
	w, err := idworker.Fixed(l, 0) //nolint:contextcheck // it asks nobody
	if err != nil {
		return 0, err
	}
	timed, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var (
		all sync.WaitGroup
		mu  sync.Mutex
	)
	start := time.Now()
	for range goroutines {
		all.Go(func() {
			var e error
			ids := make([]int64, batch)
			for n := 0; e == nil && (n%64 != 0 || timed.Err() == nil); n++ { // to look costs more than an id
				if batch > 1 {
					e = w.NextIDs(timed, ids)
				} else {
					_, e = w.NextIDWait(timed)
				}
			}
			if e != nil && timed.Err() == nil {
				mu.Lock()
				err = errors.Join(err, e)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	rate = float64(w.Status().Issued) / time.Since(start).Seconds()
	return rate, errors.Join(err, ctx.Err(), w.Close(context.WithoutCancel(ctx)))
}
