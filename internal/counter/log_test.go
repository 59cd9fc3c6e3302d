package counter_test

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/logtest"
	"github.com/snowlease/snowlease/internal/test/redistest"
)

// TestSequenceLogsChanges: one line per change, with and without prefetching.
func TestSequenceLogsChanges(t *testing.T) {
	t.Parallel()
	for name, prefetch := range map[string]int64{"strict": 1, "prefetching": 64} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, srv := redistest.StartReal(t)
			log := new(logtest.Journal)
			cfg := sequenceConfig(quick, func(c *counter.Config) { c.Prefetch, c.MaxAge = prefetch, 10*time.Millisecond })
			cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
			seq, err := counter.New(s.Client(t), cfg)
			require.NoError(t, err)
			var age atomic.Int64 // of reserved ids, which no slow reply makes too old
			seq.SetMono(func() time.Duration { return time.Duration(age.Load()) })
			t.Cleanup(func() { require.NoError(t, seq.Close()) })
			require.NoError(t, seq.Start(t.Context()))
			const (
				unavailable = `^level=WARN msg="sequence unavailable" namespace=orders center="redis [^"]+" failing_since=\S+ err=`
				again       = `^level=INFO msg="sequence issues ids" namespace=orders center="redis [^"]+"$`
			)
			n := 0 // lines so far
			logged := func(want ...string) {
				t.Helper()
				n += len(want)
				// While a strict Counter looks by itself, it logs beside its callers.
				require.Eventually(t, func() bool { return len(log.Lines()) >= n }, 30*time.Second, time.Millisecond)
				got := log.Lines()
				require.Len(t, got, n, got)
				got = got[n-len(want):]
				slices.Sort(got)
				for i, line := range got {
					require.Regexp(t, want[i], line)
				}
			}
			logged(`^level=INFO msg="new namespace; waiting for its first id" namespace=orders center="redis [^"]+" wait=\S+ hint="if it is not new, check its spelling and which store this is"$`, again)
			for range 3 {
				next(t, seq)
			}
			logged()
			for range 2 {
				srv.Kill()
				age.Add(int64(time.Second))
				for range 3 {
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					_, err := seq.NextIDWait(ctx)
					require.Error(t, err)
					cancel()
				}
				logged(unavailable)
				srv.Start() // another run_id
				_, err = seq.NextIDWait(t.Context())
				require.NoError(t, err)
				logged(again, unavailable+`.*quarantine`)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = seq.NextIDWait(ctx) // a caller that gave up says nothing about Redis
			for range 3 {
				next(t, seq)
			}
			require.NoError(t, seq.Close())
			_, err = counter.Soon(seq)
			require.Error(t, err)
			logged()
		})
	}
}
