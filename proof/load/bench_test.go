package load

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
)

var (
	window  = flag.Duration("load.window", 30*time.Second, "how long each load of BenchmarkLoad lasts")
	away    = flag.Duration("load.away", time.Minute, "how long the server stands still in BenchmarkLoad")
	minutes = flag.String("load.minute", "", "draw the figures of BenchmarkFirstMinute into this SVG")
	report  = flag.String("load.report", "", "write the figures of BenchmarkLoad into this Markdown file, between its marks")
)

// A figure is the cost of a load.
type figure struct {
	engine, load string
	wall, cpu    time.Duration   // of the server
	renewals     []time.Duration // sorted
	calls        float64
	busiest      int // calls of the keepers in a second
	unit         string
}

// BenchmarkLoad puts each load on each server, one after the other, and logs the cost.
func BenchmarkLoad(b *testing.B) {
	var figures []figure
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			f := newFleet(b, e, 0, lease.DefaultTTL, nil)
			f.hire(b, 1000, lease.DefaultTTL, nil)
			figures = append(figures, f.measure(b, "1,000 start at once", e.late, func(func()) { require.NoError(b, f.start(b.Context())) }))
			require.Len(b, slices.Compact(f.lent()), 1000)
			require.NoError(b, f.stop(b.Context()))
			time.Sleep(e.late)

			f.hire(b, workers, lease.DefaultTTL, nil)
			require.NoError(b, f.start(b.Context()))
			time.Sleep(lease.DefaultTTL / 3) // they have begun to spread
			figures = append(figures, f.measure(b, "1,024 hold, TTL 30 s", 0, func(func()) { time.Sleep(*window) }))
			require.Zero(b, f.losses())
			require.NoError(b, f.stop(b.Context()))

			figures = append(figures, f.outage(b), f.flatOut(b))
		})
	}
	b.Log("\n" + markdown(figures))
	if *report != "" {
		const begin, end = "<!-- load: begin -->\n", "<!-- load: end -->"
		text, err := os.ReadFile(*report)
		require.NoError(b, err)
		before, rest, begun := strings.Cut(string(text), begin)
		_, after, ended := strings.Cut(rest, end)
		require.True(b, begun && ended, "%s has no marks for the table", *report)
		require.NoError(b, os.WriteFile(*report, []byte(before+begin+markdown(figures)+end+after), 0o644))
	}
}

// flatOut renews 1,024 leases without pauses.
func (f *fleet) flatOut(b *testing.B) figure {
	b.Helper()
	grants := make([]lease.Grant, workers)
	for i := range grants {
		var err error
		grants[i], err = f.centers[i%processes].Acquire(b.Context(), request(lease.DefaultTTL))
		require.NoError(b, err)
	}
	m := f.measure(b, "1,024 renew without a pause", f.late, func(func()) {
		ctx, cancel := context.WithTimeout(b.Context(), *window)
		defer cancel()
		var renewing sync.WaitGroup
		for i := range grants {
			renewing.Go(func() {
				for ctx.Err() == nil {
					if g, err := f.centers[i%processes].Renew(ctx, grants[i]); err == nil {
						grants[i] = g
					} else if ctx.Err() == nil {
						b.Error(err)
					}
				}
			})
		}
		renewing.Wait()
	})
	for i, g := range grants {
		require.NoError(b, f.centers[i%processes].Release(b.Context(), g, g.Floor))
	}
	return m
}

// outage lets the server stand still until all leases have expired, and measures from then
// on until all have ids again.
func (f *fleet) outage(b *testing.B) figure {
	b.Helper()
	f.hire(b, 1000, lease.DefaultTTL, nil)
	require.NoError(b, f.start(b.Context()))
	time.Sleep(lease.DefaultTTL / 3)
	m := f.measure(b, fmt.Sprintf("1,000 recover, away for %.0f s", away.Seconds()), f.late, func(begin func()) {
		f.server.Pause()
		time.Sleep(*away)
		begin()
		f.server.Resume()
		for ended := time.Now().Add(5 * time.Minute); !f.issuing(); time.Sleep(10 * time.Millisecond) {
			require.True(b, time.Now().Before(ended), "not all have recovered")
		}
	})
	require.Len(b, slices.Compact(f.lent()), 1000)
	require.NoError(b, f.stop(b.Context()))
	return m
}

// BenchmarkBurst deletes all records under a thousand workers that take all ids of their layout
// from then on. It reports how often they renew, how long that takes, and how many of the ids
// they get.
func BenchmarkBurst(b *testing.B) {
	for _, e := range append(engines, etcd) {
		b.Run(e.name, func(b *testing.B) {
			f := newFleet(b, e, 1000, lease.DefaultTTL, nil)
			require.NoError(b, f.each(processes, func(k *keeper.Keeper) error { return k.Start(b.Context()) }))
			wiped := time.Now()
			require.NoError(b, f.wipe(b.Context(), f.server))
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var issuing sync.WaitGroup
			for _, g := range f.ids {
				issuing.Go(func() {
					for ids := make([]int64, layout.PerTick()); ctx.Err() == nil; {
						_ = g.NextIDs(ctx, ids)
					}
				})
			}
			issued := func() (n float64) {
				for _, g := range f.ids {
					n += float64(g.Issued())
				}
				return n
			}
			for !f.renewed(wiped) {
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(5 * time.Second)
			f.renewals()
			before := issued()
			time.Sleep(*window)
			took, errs := f.renewals()
			sum := time.Duration(0)
			for _, d := range took {
				sum += d
			}
			b.ReportMetric(float64(len(took))/window.Seconds(), "renewals/s")
			b.ReportMetric(float64(len(errs)), "errors")
			b.ReportMetric(sum.Seconds()*1000/float64(len(took)), "ms-mean")
			b.ReportMetric(figure{renewals: took}.at(0.99).Seconds()*1000, "ms-p99")
			b.ReportMetric(100*(issued()-before)/window.Seconds()/1000/float64(layout.PerTick())/100, "%-of-ids")
			b.ReportMetric(0, "ns/op")
			cancel()
			issuing.Wait()
			require.NoError(b, f.stop(b.Context()))
		})
	}
}

// measure runs a load and waits until the server has counted all calls. The load may call
// begin, which makes all but the calls count from then on.
func (f *fleet) measure(b *testing.B, name string, late time.Duration, load func(begin func())) figure {
	b.Helper()
	sample := func() (time.Duration, time.Time) {
		used, err := cpu(f.server)
		require.NoError(b, err)
		return used, time.Now()
	}
	calls := func() float64 {
		n, err := f.calls(b.Context(), f.server)
		require.NoError(b, err)
		return n
	}
	m := figure{engine: f.name, load: name, unit: f.unit, calls: -calls()}
	var (
		used  time.Duration
		began time.Time
	)
	begin := func() {
		f.renewals()
		f.busiest()
		used, began = sample()
	}
	begin()
	load(begin)
	usedThen, then := sample()
	m.cpu, m.wall = usedThen-used, then.Sub(began)
	m.renewals, _ = f.renewals()
	m.busiest = f.busiest()
	time.Sleep(late)
	m.calls += calls()
	return m
}

// at returns the duration that a share p of the renewals did not exceed.
func (m figure) at(p float64) time.Duration {
	if len(m.renewals) == 0 {
		return 0
	}
	return m.renewals[int(p*float64(len(m.renewals)-1))]
}

func (m figure) perSecond(n float64) float64 { return n / m.wall.Seconds() }

// markdown formats the figures as a table.
func markdown(figures []figure) string {
	var text strings.Builder
	fmt.Fprintf(&text, "`go -C proof test -run '^$' -bench Load ./load`, %d cores for the server and all its clients (%d of them), %v a load. The busiest second is that in which the keepers asked most often. To recover, a server stands still until all leases have expired; the time ends when all have ids again:\n\n",
		runtime.NumCPU(), processes, *window)
	text.WriteString("| server | load | took | renewals/s | p50 | p99 | longest | calls | calls/s | busiest second | share of one core |\n")
	text.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	ms := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	}
	for _, m := range figures {
		renewals := ""
		if len(m.renewals) > 0 {
			renewals = fmt.Sprintf("%.0f", m.perSecond(float64(len(m.renewals))))
		}
		fmt.Fprintf(&text, "| %s | %s | %.2f s | %s | %s | %s | %s | %.0f %s | %.0f | %d | %.1f %% |\n",
			m.engine, m.load, m.wall.Seconds(), renewals, ms(m.at(0.5)), ms(m.at(0.99)), ms(m.at(1)),
			m.calls, m.unit, m.perSecond(m.calls), m.busiest, 100*m.cpu.Seconds()/m.wall.Seconds())
	}
	return text.String()
}
