//go:build prove

package counter_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestSequenceLossToGrant: after one loss of records or several in a row, no id repeats,
// ids rise, and a refused caller waits for at most Skew and half a second.
func TestSequenceLossToGrant(t *testing.T) {
	t.Parallel()
	const skew = 300 * time.Millisecond
	lead := func(c *counter.Config) { c.MaxAhead, c.Skew = time.Second, skew }
	strictly := func(c *counter.Config) { lead(c); c.Prefetch = 1 }
	type stage struct {
		client func() redis.UniversalClient
		stale  func() // later writes will be lost
		lose   func(n int)
	}
	alone := func(lose func(t *testing.T, s *redistest.Store, srv *testserver.Server)) func(t *testing.T) stage {
		return func(t *testing.T) stage {
			s, srv := redistest.StartReal(t)
			return stage{func() redis.UniversalClient { return s.Client(t) }, func() {}, func(int) { lose(t, s, srv) }}
		}
	}
	for name, begin := range map[string]func(t *testing.T) stage{
		"flushed under load": alone(func(t *testing.T, s *redistest.Store, _ *testserver.Server) { s.Wipe(t) }),
		"restarted empty": alone(func(_ *testing.T, _ *redistest.Store, srv *testserver.Server) {
			srv.Kill()
			srv.Wipe()
			srv.Start()
		}),
		"a stale replica is promoted": func(t *testing.T) stage {
			servers := []*testserver.Server{testserver.NewRedis(t)}
			for range 3 {
				servers = append(servers, testserver.NewRedisReplica(t, servers[0]))
			}
			var master pointer
			master.point(servers[0])
			return stage{func() redis.UniversalClient { return master.client(t) }, func() {
				for _, replica := range servers[1:] {
					replica.CutLink()
				}
			}, func(n int) {
				servers[n].Kill()
				servers[n+1].Promote()
				master.point(servers[n+1])
			}}
		},
	} {
		for losses := 1; losses <= 3; losses++ {
			t.Run(fmt.Sprintf("%s/%d", name, losses), func(t *testing.T) {
				t.Parallel()
				st := begin(t)
				newcomer := func() *counter.Counter {
					s, err := counter.New(st.client(), sequenceConfig(strictly))
					require.NoError(t, err)
					t.Cleanup(func() { require.NoError(t, s.Close()) })
					return s
				}
				var q *lease.QuarantineError
				first, start := newcomer(), time.Now()
				_, _, err := first.Reserve(t.Context(), 0)
				require.ErrorAs(t, err, &q)
				require.LessOrEqual(t, q.Until.Sub(q.Now), skew+500*time.Millisecond)
				require.NoError(t, first.Start(t.Context()))
				next(t, first)
				t.Logf("first start: an id after %v", time.Since(start))

				c := musterOf(t, skew/3, st.client, lead)
				st.stale()
				c.await(1000)
				var lost, back time.Time
				for n := range losses {
					lost = time.Now()
					st.lose(n)
					require.Eventually(t, func() bool { // and it notices the loss, if nobody has yet
						_, _, err := newcomer().Reserve(t.Context(), 0)
						return err == nil || errors.As(err, &q)
					}, time.Minute, time.Millisecond)
					if back = time.Now(); n == 1 {
						c.await(10) // the third loss comes when ids continue
					}
				}
				s := newcomer()
				require.NoError(t, s.Start(t.Context()))
				for ok := false; !ok; {
					_, ok = c.issue(s)
				}
				t.Logf("loss %d: a new process has an id after %v, %v after Redis answers", losses, time.Since(lost), time.Since(back))
				c.await(1000)
				c.dismiss()
				t.Logf("the longest wait that was told: %v", c.wait)
				require.Positive(t, c.wait)
				require.LessOrEqual(t, c.wait, skew+500*time.Millisecond)
			})
		}
	}
}
