package leasetest

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// Long leases do not expire during a test, even on a slow machine. Tests wait for the end of
// short leases.
const (
	long  = time.Minute
	short = 300 * time.Millisecond
	skew  = 50 * time.Millisecond
	least = 20 * time.Millisecond // the shortest range that is granted ahead of the clock
)

// A space is one namespace under test.
type space struct {
	*bench
	*ledger
	t     testing.TB
	base  lease.Request // the common part of all requests, without an Owner
	calls atomic.Int64
	now   atomic.Int64 // the center's clock as last seen

	holders []lease.Grant // the state of anything
}

// A change makes a request differ from the base of its space.
type change func(*lease.Request)

func ttl(d time.Duration) change { return func(r *lease.Request) { r.TTL = d } }

func maxTTL(d time.Duration) change { return func(r *lease.Request) { r.TTL, r.MaxTTL = d, d } }

// above allows grants ahead of the clock after a loss. Without it times are exact.
func above(r *lease.Request) { r.MaxLead = r.MaxTTL - least }

func exact(r *lease.Request) { r.MaxLead = 0 }

func workers(first, last int64) change {
	return func(r *lease.Request) { r.First, r.Last = first, last }
}

func local(ms int64) change { return func(r *lease.Request) { r.CallerTime = ms } }

func owner(o [16]byte) change { return func(r *lease.Request) { r.Owner = o } }

// space returns a namespace without records.
func (b *bench) space(t testing.TB, pool int64, changes ...change) *space {
	s := &space{bench: b, t: t, ledger: &ledger{t: t}, base: lease.Request{
		Namespace: uniqueNamespace(), Layout: "41/5/0/17@1577808000000/1ms", Holder: "leasetest",
		Pool: pool, Last: pool - 1, TTL: long, MaxTTL: long, Skew: skew,
	}}
	for _, c := range changes {
		c(&s.base)
	}
	return s
}

// open returns a namespace whose center grants leases immediately.
func (b *bench) open(t testing.TB, pool int64, changes ...change) *space {
	t.Helper()
	s := b.space(t, pool, changes...)
	s.open()
	return s
}

func (s *space) open() {
	s.t.Helper()
	if init := s.center().Extras().Init; init != nil {
		require.NoError(s.t, init(s.t.Context(), s.request()), "Init did not open a namespace without records")
		return
	}
	g, err := s.tryAcquire()
	for quarantine := (*lease.QuarantineError)(nil); errors.As(err, &quarantine); g, err = s.tryAcquire() {
		s.Sleep(quarantine.Wait() + 5*time.Millisecond)
	}
	require.NoError(s.t, err)
	s.release(g, g.Floor)
	s.pass(g.Now)
}

// center returns the two centers in turn, since promises must hold between processes.
func (s *space) center() lease.Center { return s.centers[s.calls.Add(1)%2] }

// request returns a valid request with a new owner.
func (s *space) request(changes ...change) lease.Request {
	r := s.base
	r.Owner = lease.NewOwner()
	for _, c := range changes {
		c(&r)
	}
	return r
}

// tryAcquire calls Acquire once.
func (s *space) tryAcquire(changes ...change) (lease.Grant, error) {
	return s.ask(s.request(changes...))
}

func (s *space) ask(req lease.Request) (lease.Grant, error) {
	g, err := s.center().Acquire(s.t.Context(), req)
	s.see(g, err)
	if err == nil {
		s.lent(g)
	}
	return g, err
}

// acquire borrows a worker id, which must succeed.
func (s *space) acquire(changes ...change) lease.Grant {
	s.t.Helper()
	req := s.request(changes...)
	g, err := s.ask(req)
	require.NoError(s.t, err)
	require.Equal(s.t, req, g.Request, "a grant carries its request")
	require.GreaterOrEqual(s.t, g.Worker, req.First)
	require.LessOrEqual(s.t, g.Worker, req.Last)
	s.requireRange(g)
	require.Greater(s.t, g.Since, g.Now-1000)
	require.LessOrEqual(s.t, g.Since, g.Now)
	return g
}

// tryRenew calls Renew once.
func (s *space) tryRenew(g lease.Grant) (lease.Grant, error) {
	renewed, err := s.center().Renew(s.t.Context(), g)
	s.see(renewed, err)
	if err == nil {
		s.lent(renewed)
	}
	return renewed, err
}

// renew renews g, which must succeed.
func (s *space) renew(g lease.Grant) lease.Grant {
	s.t.Helper()
	renewed, err := s.tryRenew(g)
	require.NoError(s.t, err)
	want := g
	want.Now, want.Ceiling, want.Pinned = renewed.Now, renewed.Ceiling, renewed.Pinned
	require.Equal(s.t, want, renewed, "a renewal changes Now, Ceiling and Pinned only")
	require.GreaterOrEqual(s.t, renewed.Ceiling, g.Ceiling, "a renewal lowers no ceiling")
	ttl, _, _ := times(renewed)
	require.GreaterOrEqual(s.t, renewed.Ceiling, renewed.Now+ttl, "a renewal lasts for the TTL")
	return renewed
}

// times returns TTL, MaxTTL and MaxLead of a grant, in milliseconds, as far as its namespace
// allows for them.
func times(g lease.Grant) (ttl, maxTTL, ahead int64) {
	used := cmp.Or(g.Pinned.Used(), g.MaxTTL)
	if g.MaxLead > 0 {
		ahead = (used - (g.MaxTTL - g.MaxLead)).Milliseconds()
	}
	// After a loss, all wait for the greatest skew: what a member's own lacks of that is added.
	return min(g.TTL+max(0, g.Pinned.Skew-g.Skew), used).Milliseconds(), used.Milliseconds(), ahead
}

// requireRange checks a range that was just granted.
func (s *space) requireRange(g lease.Grant) {
	s.t.Helper()
	ttl, maxTTL, ahead := times(g)
	require.GreaterOrEqual(s.t, g.Floor, g.Now-1, "ids are not older than the grant")
	require.Less(s.t, g.Floor, g.Now+max(1, ahead), "the range does not start too far ahead")
	require.Equal(s.t, max(g.Now+ttl, min(g.Floor+ttl, g.Now+maxTTL)), g.Ceiling,
		"the ceiling is TTL above the center's now, or above a floor that is ahead of it, but at most MaxTTL above now")
}

// goesOn continues a holder after a loss. The holder gets a range above the quarantine as soon as
// the center grants one: with a renewal or, if its grant is not recorded, by borrowing again.
func (s *space) goesOn(g lease.Grant, q *lease.QuarantineError) lease.Grant {
	s.t.Helper()
	next, err := s.tryRenew(g)
	for s.waits(err) {
		next, err = s.tryRenew(g)
	}
	if err == nil {
		require.Equal(s.t, g.Worker, next.Worker)
		require.GreaterOrEqual(s.t, next.Floor, g.Ceiling, "above the range that it had")
		require.Greater(s.t, next.Token, g.Token, "the range is a new grant")
		require.Equal(s.t, []any{g.Request, g.Since}, []any{next.Request, next.Since})
	} else {
		require.ErrorIs(s.t, err, lease.ErrLost)
		next = s.borrows(func(r *lease.Request) { *r = g.Request; r.Owner = lease.NewOwner() })
	}
	s.requireRange(next)
	require.GreaterOrEqual(s.t, next.Floor, s.horizon(q), "above all that may have been forgotten")
	return next
}

// borrows waits for the end of a quarantine and borrows a worker id.
func (s *space) borrows(changes ...change) lease.Grant {
	s.t.Helper()
	req := s.request(changes...)
	g, err := s.ask(req)
	for s.waits(err) {
		g, err = s.ask(req)
	}
	require.NoError(s.t, err)
	return g
}

// waits waits for the time in the *lease.QuarantineError of err. It reports whether err wraps
// one.
func (s *space) waits(err error) bool {
	q := (*lease.QuarantineError)(nil)
	if errors.As(err, &q) {
		s.Sleep(q.Wait() + 2*time.Millisecond)
	}
	return q != nil
}

// tryRelease releases g. Its holder has stopped, even if Release fails.
func (s *space) tryRelease(g lease.Grant, lastUsed int64) error {
	s.stopped(g, lastUsed)
	return s.center().Release(s.t.Context(), g, lastUsed)
}

// release releases g, which must succeed.
func (s *space) release(g lease.Grant, lastUsed int64) {
	s.t.Helper()
	require.NoError(s.t, s.tryRelease(g, lastUsed))
}

// see records the center's clock.
func (s *space) see(g lease.Grant, err error) {
	now := g.Now
	var (
		full       *lease.NoFreeWorkerError
		quarantine *lease.QuarantineError
	)
	switch {
	case errors.As(err, &full):
		now = full.Now.UnixMilli()
	case errors.As(err, &quarantine):
		now = quarantine.Now.UnixMilli()
	}
	for seen := s.now.Load(); now > seen && !s.now.CompareAndSwap(seen, now); seen = s.now.Load() {
	}
}

// pass waits until the center's clock has passed ms.
func (s *space) pass(ms int64) {
	if d := ms - s.now.Load(); d >= 0 {
		s.Sleep(time.Duration(d+5) * time.Millisecond)
	}
}

// slot returns the record of a worker id, or false if the center does not list its slots.
func (s *space) slot(worker int64) (lease.Slot, bool) {
	s.t.Helper()
	lister := s.center().Extras().Lister
	if lister == nil {
		return lease.Slot{}, false
	}
	slots, err := lister.Slots(s.t.Context(), s.base.Namespace)
	require.NoError(s.t, err)
	require.Greater(s.t, int64(len(slots)), worker)
	return slots[worker], true
}

// requireMark compares the recorded mark, if the center lists its slots.
func (s *space) requireMark(worker, want int64, what string) {
	s.t.Helper()
	if slot, ok := s.slot(worker); ok {
		require.Equal(s.t, want, slot.HighWater, what)
	}
}

// requireFull requires that the center refuses a request because the pool is full.
func (s *space) requireFull(changes ...change) *lease.NoFreeWorkerError {
	s.t.Helper()
	req := s.request(changes...)
	_, err := s.ask(req)
	var full *lease.NoFreeWorkerError
	require.ErrorAs(s.t, err, &full)
	require.Equal(s.t, req.Namespace, full.Namespace)
	require.Equal(s.t, []int64{req.First, req.Last}, []int64{full.First, full.Last}, "the error names the requested worker ids")
	return full
}

// requireQuarantine requires that the center refuses a request because of a quarantine.
func (s *space) requireQuarantine(changes ...change) *lease.QuarantineError {
	s.t.Helper()
	_, err := s.tryAcquire(changes...)
	return s.isQuarantine(err)
}

func (s *space) isQuarantine(err error) *lease.QuarantineError {
	s.t.Helper()
	var q *lease.QuarantineError
	require.ErrorAs(s.t, err, &q)
	require.Equal(s.t, s.base.Namespace, q.Namespace)
	require.NotEmpty(s.t, q.Reason, "the error has a reason")
	return q
}

// began returns the start of a quarantine, from the error for a request with exact times.
func (s *space) began(q *lease.QuarantineError) int64 {
	return q.Until.Add(-s.base.MaxTTL-s.base.Skew).UnixMilli() - 1
}

// horizon returns the last millisecond of that quarantine.
func (s *space) horizon(q *lease.QuarantineError) int64 { return q.Until.UnixMilli() - 1 }

// expired returns a context whose deadline has passed.
func expired(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), -1)
	t.Cleanup(cancel)
	return ctx
}

// canceled returns a context that is canceled.
func canceled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
