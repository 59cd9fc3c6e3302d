package leasetest

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// An editor is a Store with Edit and Delete.
type editor interface {
	Edit(t testing.TB, namespace string, worker int64, field, value string) bool
	Delete(t testing.TB, namespace string, worker int64)
}

func canEdit(b *bench) bool { _, ok := b.Store.(editor); return ok }

// meta stands for the record of the namespace where a worker id is expected.
const meta = int64(-1)

// editing returns the promises that hold when other programs and people change records.
func editing() []promise {
	promises := []promise{
		{says: "late times of a worker id that is lent are deleted with its record", prove: func(t *testing.T, b *bench) {
			lateSlot(t, b, func(*space, lease.Grant) {})
		}},
		{says: "late times of a worker id that is free are deleted with its record", prove: func(t *testing.T, b *bench) {
			lateSlot(t, b, func(s *space, g lease.Grant) { s.release(g, g.Ceiling) })
		}},
		{says: "a late quarantine is deleted with the record of the namespace", prove: lateQuarantine},
	}
	for i := range promises {
		promises[i].by = canEdit
	}
	return promises
}

// late returns a time that no member can have written.
func late(g lease.Grant) int64 { return g.Now + (365 * 24 * time.Hour).Milliseconds() }

func lateSlot(t *testing.T, b *bench, before func(*space, lease.Grant)) {
	s, store := b.open(t, 2, above), b.Store.(editor)
	a, c := s.acquire(), s.acquire()
	before(s, a)
	for _, field := range []string{"since", "token", "expires", "mark"} {
		require.True(t, store.Edit(t, s.base.Namespace, a.Worker, field, strconv.FormatInt(late(a), 10)))
	}
	full := s.requireFull(workers(a.Worker, a.Worker))
	require.Equal(t, late(a)+1, full.Soonest.UnixMilli())

	store.Delete(t, s.base.Namespace, a.Worker)
	q := s.deleted()
	s.goesOn(a, q)
	s.goesOn(c, q)
	if lister := b.centers[0].Extras().Lister; lister != nil {
		slots, err := lister.Slots(t.Context(), s.base.Namespace)
		require.NoError(t, err)
		for _, slot := range slots {
			require.LessOrEqual(t, max(slot.Since, slot.Token, slot.Expires, slot.Mark), slot.Now+(s.base.MaxTTL+s.base.Skew).Milliseconds())
		}
	}
}

func lateQuarantine(t *testing.T, b *bench) {
	s, store := b.open(t, 2, above), b.Store.(editor)
	a, c := s.acquire(), s.acquire()
	b.Drop(t, s.base.Namespace, OneMark)
	s.requireQuarantine(exact)
	require.True(t, store.Edit(t, s.base.Namespace, meta, "quarantine", strconv.FormatInt(late(a), 10)))
	require.Equal(t, late(a)+1, s.requireQuarantine(exact).Until.UnixMilli())

	store.Delete(t, s.base.Namespace, meta)
	q := s.deleted()
	s.goesOn(a, q)
	s.goesOn(c, q)
}

// deleted requires that a record that was deleted counts as lost: a quarantine begins by the
// clock of now.
func (s *space) deleted() *lease.QuarantineError {
	s.t.Helper()
	q := s.requireQuarantine(exact)
	require.InDelta(s.t, q.Now.UnixMilli(), s.began(q), 1)
	return q
}
