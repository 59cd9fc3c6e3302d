package takeover_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/takeover"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
)

// After all worker ids of a namespace are taken over, processes with its configuration
// are refused for good, and the error says where the worker ids went. After a part is
// taken over, the other worker ids are lent as before.
func TestTakeRetires(t *testing.T) {
	t.Parallel()
	center, err := dbseq.Open("sqlite", filepath.Join(t.TempDir(), "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, center.Close()) })
	for namespace, last := range map[string]int64{"part": 2, "all": 3} {
		next := side(center, namespace+"-2", wide, 0, 15)
		for _, s := range []takeover.Side{side(center, namespace, narrow, 0, 3), next} {
			require.NoError(t, center.Extras().Init(t.Context(), s.Request))
		}
		r, err := takeover.Take(t.Context(), side(center, namespace, narrow, 0, last), next)
		require.NoError(t, err)
		require.Equal(t, namespace == "all", r.Retired)
		g, err := center.Acquire(t.Context(), side(center, namespace, narrow, 0, 3).Request)
		if namespace == "part" {
			require.NoError(t, err)
			require.Equal(t, int64(3), g.Worker)
			sealed := side(center, namespace, narrow, 0, last).Request
			_, err = center.Acquire(t.Context(), sealed)
			var full *lease.NoFreeWorkerError
			require.ErrorAs(t, err, &full)
			require.Equal(t, r.Sealed+1, full.Soonest.UnixMilli())
			continue
		}
		var mismatch *lease.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.ErrorContains(t, err, `"all" is retired: its worker ids were taken over by namespace "all-2" of sqlite`)
		_, err = takeover.Take(t.Context(), side(center, namespace, narrow, 0, last), next)
		require.ErrorAs(t, err, &mismatch, "the new side may have been made again since")
	}
}

// slow pauses before it retires a namespace, as a process does that is stopped.
type slow struct {
	lease.Center
	pause func()
}

func (s slow) Extras() lease.Extras {
	extras := s.Center.Extras()
	extras.Operator = slowOperator{extras.Operator, s.pause}
	return extras
}

type slowOperator struct {
	lease.Operator
	pause func()
}

func (o slowOperator) Retire(ctx context.Context, namespace, reason string) error {
	o.pause()
	return o.Operator.Retire(ctx, namespace, reason)
}

// A process with the old configuration may start while Take is paused for longer than the TTL.
// Nothing is lent on the new side within its range, even if its record is lost.
func TestTakeIsPausedBeforeItRetires(t *testing.T) {
	for _, name := range []string{"waits", "may not wait", "loss", "noticed loss"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				patient, loss, store := name != "may not wait", strings.HasSuffix(name, "loss"), memcenter.NewStore()
				center := casstore.New(store)
				old, next := side(center, "old", narrow, 0, 3), side(center, "new", narrow, 0, 3)
				for _, s := range []takeover.Side{old, next} {
					require.NoError(t, center.Extras().Init(t.Context(), s.Request))
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var late lease.Grant
				old.Center = slow{center, func() {
					time.Sleep(2 * old.Request.TTL)
					req := old.Request
					req.Owner, req.Holder = lease.NewOwner(), "late"
					var err error
					late, err = center.Acquire(t.Context(), req)
					require.NoError(t, err)
					if loss {
						store.Change("old", func(ns rules.Namespace) rules.Namespace { return ns.WithoutMark(late.Worker).WithoutLease(late.Worker) })
					}
					if name == "noticed loss" {
						_, err = center.Acquire(t.Context(), req)
						require.ErrorAs(t, err, new(*lease.QuarantineError))
					}
					if !patient {
						time.AfterFunc(time.Second, cancel)
					}
				}}
				r, err := takeover.Take(ctx, old, next)
				if !patient {
					require.ErrorIs(t, err, context.Canceled)
					require.ErrorContains(t, err, `the old side is retired, but worker id 0 was lent to "late" in the meantime; start no new process before `+
						time.UnixMilli(late.Ceiling+1).UTC().Format(time.RFC3339Nano))
					_, err = takeover.Take(t.Context(), old, next)
					require.ErrorAs(t, err, new(*lease.MismatchError))
					require.ErrorContains(t, err, "is past "+time.UnixMilli(late.Ceiling).UTC().Format(time.RFC3339Nano))
					return
				}
				if name == "loss" {
					q := (*lease.QuarantineError)(nil)
					require.ErrorAs(t, err, &q)
					time.Sleep(q.Wait())
					old.Center = center
					r, err = takeover.Take(t.Context(), old, next)
				}
				require.NoError(t, err)
				require.True(t, r.Retired)
				g, err := center.Acquire(t.Context(), next.Request)
				require.NoError(t, err)
				require.Equal(t, late.Worker, g.Worker)
				require.Greater(t, g.Floor, late.Ceiling, "the late process issues ids up to there")
			})
		})
	}
}
