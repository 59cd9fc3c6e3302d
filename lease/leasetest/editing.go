package leasetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// meta stands for the record of the namespace in place of a worker id.
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
		{says: "a raise outlives the records of its member and of the namespace", alone: true, prove: raiseLost},
		{says: "a damaged record is named and lends nothing twice", prove: damaged},
		{says: "a pin of another version refuses every member, and stays", prove: pinOfAnotherVersion},
	}
	for i := range promises {
		promises[i].by = canEdit
	}
	return promises
}

// pinOfAnotherVersion tests a pin in a format that this version cannot parse.
func pinOfAnotherVersion(t *testing.T, b *bench) {
	s := b.open(t, 2)
	g := s.acquire()
	const pin = "form=2 layout={other}"
	require.True(t, b.Store.(editor).Edit(t, s.base.Namespace, meta, "pin", pin))
	_, err := s.tryAcquire()
	require.ErrorAs(t, err, new(*lease.MismatchError))
	_, err = s.tryRenew(g)
	require.ErrorAs(t, err, new(*lease.MismatchError))
	if o := s.center().Extras().Operator; o != nil {
		rec, err := o.Record(t.Context(), s.base.Namespace)
		require.NoError(t, err)
		require.Equal(t, pin, rec.Pin.String())
	}
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
			require.LessOrEqual(t, max(slot.Since, slot.Token, slot.Expires, slot.HighWater), slot.Now+(s.base.MaxTTL+s.base.Skew).Milliseconds())
		}
	}
}

// raiseLost tests that a record that no member has written since still contains the greater
// times, also on a replica that has not received the use of the raise.
func raiseLost(t *testing.T, b *bench) {
	s, store := b.open(t, 2, maxTTL(brief)), b.Store.(editor)
	free := s.acquire()
	s.release(free, free.Floor)
	var failover func()
	g := s.until(func(g lease.Grant) bool {
		if failover == nil && g.Pinned.Change.At > 0 {
			failover = b.Snapshot(t)
		}
		return g.Ceiling > g.Now+brief.Milliseconds()
	}, s.acquire(greater, workers(1-free.Worker, 1-free.Worker)))[0]
	lose := func() {
		t.Helper()
		store.Delete(t, s.base.Namespace, g.Worker)
		store.Delete(t, s.base.Namespace, meta)
		require.Greater(t, s.horizon(s.requireQuarantine()), g.Ceiling)
	}
	lose()
	if failover != nil {
		failover()
		lose()
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

// deleted requires that a deleted record counts as lost, so that a quarantine begins at the clock
// of now.
func (s *space) deleted() *lease.QuarantineError {
	s.t.Helper()
	q := s.requireQuarantine(exact)
	require.InDelta(s.t, q.Now.UnixMilli(), s.began(q), 1)
	return q
}

// damages are values that no member can have written: a field of the record of the namespace or
// of a worker id, its value, and a part of the error.
var damages = []struct {
	namespace          bool
	field, value, says string
}{
	{true, "pin", strings.Repeat("x", 2000), "the pin "},
	{true, "quarantine", "-1", "the quarantine is "},
	{true, "quarantine", "1000000000000000", "the quarantine is "},
	{true, "quarantine", "soon", "quarantine"},
	{false, "token", "-1", "token of worker id "},
	{false, "token", "1000000000000000", "token of worker id "},
	{false, "token", "9223372036854775807", "token of worker id "},
	{false, "since", "-1", "since of worker id "},
	{false, "since", "1000000000000000", "since of worker id "},
	{false, "floor", "-1", "floor of worker id "},
	{false, "floor", "1000000000000000", "floor of worker id "},
	{false, "expires", "-1", "expires of worker id "},
	{false, "expires", "1000000000000000", "expires of worker id "},
	{false, "expires", "soon", ""},
	{false, "mark", "-1", "mark of worker id "},
	{false, "mark", "1000000000000000", "mark of worker id "},
	{false, "mark", "9223372036854775807", "mark of worker id "},
	{false, "mark", "soon", ""},
}

// damaged tests that each call returns, that it returns lease.ErrDamaged if it reads a damaged
// record, and that no range is granted twice.
func damaged(t *testing.T, b *bench) {
	for _, d := range damages {
		for _, free := range []bool{false, true} {
			if free && (d.namespace || d.field == "since" || d.field == "floor") { // the loan says those
				continue
			}
			s := b.open(t, 2, above)
			held, other := s.acquire(), s.acquire()
			worker := held.Worker
			switch {
			case d.namespace:
				worker = meta
			case free:
				s.release(other, other.Floor)
				s.Sleep(5 * time.Millisecond)
				worker = other.Worker
			}
			if !b.Store.(editor).Edit(t, s.base.Namespace, worker, d.field, d.value) {
				continue
			}
			what := fmt.Sprintf("%s of %d is %.20s", d.field, worker, d.value)
			told := s.callAll(what, held)
			by := map[string]bool{
				"slots":         !d.namespace && lists(b),
				"acquire":       d.namespace || free && d.field == "token",
				"acquire again": !d.namespace && !free && slices.Contains([]string{"token", "since", "floor"}, d.field),
			}
			for name, says := range by {
				if says {
					require.ErrorContains(t, told[name], d.says, "%s: %s", what, name)
				}
			}
		}
	}
}

// callAll calls every method with a holder of a record that may be damaged, and returns the
// errors that report the damage.
func (s *space) callAll(what string, held lease.Grant) (told map[string]error) {
	s.t.Helper()
	ctx, extras, ns := s.t.Context(), s.center().Extras(), s.base.Namespace
	type call struct {
		name string
		do   func() error
	}
	var calls []call
	if extras.Lister != nil {
		calls = append(calls, call{"slots", func() error { _, err := extras.Lister.Slots(ctx, ns); return err }})
	}
	if o := extras.Operator; o != nil {
		calls = append(calls, call{"record", func() error { _, err := o.Record(ctx, ns); return err }})
	}
	if extras.Init != nil {
		calls = append(calls, call{"init", func() error { return extras.Init(ctx, s.request()) }})
	}
	calls = append(calls,
		call{"acquire", func() error { _, err := s.tryAcquire(); return err }},
		call{"acquire it", func() error { _, err := s.tryAcquire(workers(held.Worker, held.Worker)); return err }},
		call{"acquire again", func() error { _, err := s.ask(held.Request); return err }},
		call{"renew", func() error { _, err := s.tryRenew(held); return err }},
	)
	if o := extras.Operator; o != nil {
		calls = append(calls,
			call{"quarantine", func() error { _, err := o.Quarantine(ctx, ns, "by hand"); return err }},
			call{"revoke", func() error { return o.Revoke(ctx, ns, held.Worker, held.Token) }},
			call{"retire", func() error { return o.Retire(ctx, ns, "by hand") }},
		)
	}
	calls = append(calls, call{"release", func() error { return s.tryRelease(held, held.Ceiling) }})
	told = map[string]error{}
	for _, c := range calls {
		err := c.do()
		switch {
		case errors.Is(err, lease.ErrDamaged):
			told[c.name] = err
			require.Less(s.t, len(err.Error()), 1500, "%s: %s", what, c.name)
		case err != nil && !errors.Is(err, lease.ErrExists) && !errors.As(err, new(*lease.MismatchError)) && !strings.Contains(err.Error(), "retired"):
			requireKnown(s.t, err)
		}
	}
	return told
}
