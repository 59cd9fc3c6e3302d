package leasetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// RunOperator tests the promises of lease.Operator, as Run tests the promises of lease.Center.
// The stores' centers must have an Operator among their Extras.
func RunOperator(t *testing.T, newStore func(testing.TB) Store) {
	t.Helper()
	t.Run("operator", func(t *testing.T) {
		shared := newBench(t, newStore)
		for _, p := range operating() {
			if p.by != nil && !p.by(shared) {
				t.Logf("this store cannot show: %s", p.says)
				continue
			}
			t.Run(p.says, func(t *testing.T) {
				t.Parallel()
				b := shared
				if p.alone {
					b = newBench(t, newStore)
				}
				p.prove(t, b)
			})
		}
	})
}

func operating() []promise {
	return []promise{
		{says: "nothing is on record for an unknown namespace", prove: func(t *testing.T, b *bench) {
			s, op := b.space(t, 2), operator(t, b)
			_, err := op.Record(t.Context(), s.base.Namespace)
			require.ErrorIs(t, err, lease.ErrUnknown)
			_, err = op.Quarantine(t.Context(), s.base.Namespace, "by hand")
			require.ErrorIs(t, err, lease.ErrUnknown)
			require.ErrorIs(t, op.Revoke(t.Context(), s.base.Namespace, 0, 1), lease.ErrLost)
			_, err = op.Record(t.Context(), "no namespace")
			require.ErrorContains(t, err, "no namespace")
		}},
		{says: "the record shows pin and quarantine", prove: func(t *testing.T, b *bench) {
			s, op := b.open(t, 2), operator(t, b)
			g := s.acquire()
			rec, err := op.Record(t.Context(), s.base.Namespace)
			require.NoError(t, err)
			require.Equal(t, s.base.Pin(), rec.Pin)
			require.False(t, rec.Quarantined())
			require.GreaterOrEqual(t, rec.Now, g.Now)
			require.NoError(t, rec.Pin.Err())
			require.Equal(t, s.base.Pin(), lease.ParsePin(rec.Pin.String()))
			first, err := op.Incarnation(t.Context(), s.base.Namespace)
			require.NoError(t, err)
			again, err := op.Incarnation(t.Context(), s.base.Namespace)
			require.NoError(t, err)
			require.Equal(t, first, again)
			require.Equal(t, b.Traits().Incarnation, first != "")
		}},
		{says: "a quarantine by hand lasts, and holders continue above it", prove: func(t *testing.T, b *bench) {
			s, op := b.open(t, 2, above), operator(t, b)
			g := s.acquire()
			rec, err := op.Quarantine(t.Context(), s.base.Namespace, "restored from a backup")
			require.NoError(t, err)
			require.True(t, rec.Quarantined())
			require.GreaterOrEqual(t, rec.Quarantine, g.Now+(s.base.MaxTTL+s.base.Skew).Milliseconds())
			q := s.requireQuarantine(exact)
			require.Contains(t, q.Reason, "restored from a backup")
			g = s.goesOn(g, q)
			longer, err := op.Quarantine(t.Context(), s.base.Namespace, "again")
			require.NoError(t, err)
			require.Greater(t, longer.Quarantine, rec.Quarantine)
			s.goesOn(g, s.requireQuarantine(exact))
		}},
		{says: "a quarantine after a restore from a backup prevents duplicates", alone: true, prove: restored},
		{says: "a revoked worker id is not lent before its mark has passed", prove: revoked},
		{says: "Revoke needs the token on record and works once", prove: func(t *testing.T, b *bench) {
			s, op := b.open(t, 2), operator(t, b)
			g := s.acquire()
			require.ErrorIs(t, op.Revoke(t.Context(), s.base.Namespace, g.Worker, g.Token+1), lease.ErrLost)
			require.ErrorIs(t, op.Revoke(t.Context(), s.base.Namespace, 1-g.Worker, g.Token), lease.ErrLost)
			require.ErrorIs(t, op.Revoke(t.Context(), s.base.Namespace, 5, g.Token), lease.ErrLost)
			g = s.renew(g)
			require.NoError(t, op.Revoke(t.Context(), s.base.Namespace, g.Worker, g.Token))
			require.ErrorIs(t, op.Revoke(t.Context(), s.base.Namespace, g.Worker, g.Token), lease.ErrLost)
		}},
		{says: "nothing that is revoked or retired hides a loss", prove: func(t *testing.T, b *bench) {
			s, op := b.open(t, 1, above), operator(t, b)
			g := s.acquire()
			b.Drop(t, s.base.Namespace, OneMark)
			require.ErrorIs(t, op.Revoke(t.Context(), s.base.Namespace, g.Worker, g.Token), lease.ErrLost)
			require.ErrorAs(t, op.Retire(t.Context(), s.base.Namespace, "moved"), new(*lease.QuarantineError))
			s.requireQuarantine(exact)
			require.NoError(t, op.Retire(t.Context(), s.base.Namespace, "moved"), "the loss is on record")
		}},
		{says: "a retired namespace lends nothing and says why", prove: func(t *testing.T, b *bench) {
			s, op := b.open(t, 2), operator(t, b)
			require.ErrorIs(t, op.Retire(t.Context(), "nobody-"+s.base.Namespace, "gone"), lease.ErrUnknown)
			g := s.acquire()
			before, err := op.Record(t.Context(), s.base.Namespace)
			require.NoError(t, err)
			for _, reason := range []string{"moved to orders-2", "again"} { // the first reason stays
				require.NoError(t, op.Retire(t.Context(), s.base.Namespace, reason))
			}
			rec, err := op.Record(t.Context(), s.base.Namespace)
			require.NoError(t, err)
			require.True(t, rec.Pin.Retired)
			require.False(t, before.Pin.Retired)
			for name, call := range map[string]func() error{
				"acquire": func() error { _, err := s.tryAcquire(); return err },
				"renew":   func() error { _, err := s.tryRenew(g); return err },
			} {
				var mismatch *lease.MismatchError
				require.ErrorAs(t, call(), &mismatch, name)
				require.ErrorContains(t, mismatch, "retired: moved to orders-2")
			}
			_, err = op.Quarantine(t.Context(), s.base.Namespace, "by hand")
			require.ErrorContains(t, err, "retired: moved to orders-2")
			s.requireMark(g.Worker, g.Ceiling, "the mark stays")
			require.NoError(t, op.Revoke(t.Context(), s.base.Namespace, g.Worker, g.Token))
			require.ErrorIs(t, op.Revoke(t.Context(), s.base.Namespace, g.Worker, g.Token), lease.ErrLost)
			b.Drop(t, s.base.Namespace, Meta)
			_, err = s.tryAcquire()
			require.ErrorContains(t, err, "retired: moved to orders-2", "the slots show it")
		}},
		{says: "ranges are disjoint whatever operators do", prove: func(t *testing.T, b *bench) {
			s, op := b.open(t, 3, maxTTL(short), above), operator(t, b)
			for i := range 6 {
				s.anything(t, 10)
				slots, err := op.Slots(t.Context(), s.base.Namespace)
				require.NoError(t, err)
				for _, slot := range slots {
					if rand.N(2) == 0 {
						_ = op.Revoke(t.Context(), s.base.Namespace, slot.Worker, slot.Token) // nobody may hold it
					}
				}
				if i%3 == 2 {
					_, err := op.Quarantine(t.Context(), s.base.Namespace, "by hand")
					require.NoError(t, err)
				}
				s.anything(t, 10)
			}
			s.lendAll()
		}},
	}
}

func operator(t *testing.T, b *bench) lease.Operator {
	t.Helper()
	op := b.centers[1].Extras().Operator
	require.NotNil(t, op, "%T has no Operator", b.centers[1])
	return op
}

// restored tests a restore of a backup that is older than the grant of a holder.
func restored(t *testing.T, b *bench) {
	s, op := b.open(t, 1, maxTTL(short)), operator(t, b)
	restore := b.Snapshot(t)
	holder := s.acquire()
	restore()
	rec, err := op.Quarantine(t.Context(), s.base.Namespace, "restored")
	require.NoError(t, err)
	require.Greater(t, rec.Quarantine, holder.Ceiling)
	_, err = s.tryRenew(holder)
	require.ErrorIs(t, err, lease.ErrLost, "not on record")
	require.GreaterOrEqual(t, s.borrows(above).Floor, holder.Ceiling)
}

func revoked(t *testing.T, b *bench) {
	s, op := b.open(t, 1, ttl(3*time.Second)), operator(t, b) // long enough for a busy machine
	g := s.acquire()
	require.NoError(t, op.Revoke(t.Context(), s.base.Namespace, g.Worker, g.Token))
	s.requireMark(g.Worker, g.Ceiling, "the mark stays")
	slot, ok := s.slot(g.Worker)
	require.True(t, ok)
	require.Empty(t, slot.Holder)
	require.Less(t, slot.Expires, slot.Now)
	_, err := s.tryRenew(g)
	require.ErrorIs(t, err, lease.ErrLost)
	full := s.requireFull()
	require.Equal(t, g.Ceiling+1, full.Soonest.UnixMilli())
	s.Sleep(full.Wait() + 5*time.Millisecond)
	require.GreaterOrEqual(t, s.acquire().Floor, g.Ceiling)
}
