package casstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/internal/test/edit"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// A store is a Store with the faults of leasetest.
type store struct {
	*memcenter.Store
	still    bool // only Sleep moves its clock
	compared bool // it has an incarnation
	run      atomic.Int64

	mu     sync.Mutex
	now    time.Time
	before func() error // runs before a Swap, which fails with its error
	after  error        // fails the next Swap after it took effect
}

func newStore(still, compared bool) *store {
	return &store{Store: memcenter.NewStore(), still: still, compared: compared, now: time.UnixMilli(1_800_000_000_000)}
}

func (s *store) Load(ctx context.Context, name string) (casstore.Record, error) {
	r, err := s.Store.Load(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Now = time.Time{}
	if s.still {
		r.Now = s.now
	}
	if !s.compared {
		r.Incarnation = ""
	}
	return r, err
}

func (s *store) Swap(ctx context.Context, name, version string, value []byte) (incarnation string, err error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return "", err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	incarnation, err = s.Store.Swap(ctx, name, version, value)
	if err != nil || !s.compared {
		incarnation = ""
	}
	if err == nil {
		err, s.after = s.after, nil
	}
	return incarnation, err
}

func (s *store) Center(testing.TB) lease.Center { return casstore.New(s) }

func (s *store) Sleep(d time.Duration) {
	s.mu.Lock()
	s.now = s.now.Add(d)
	s.mu.Unlock()
	if !s.still {
		time.Sleep(d)
	}
}

func (s *store) Wipe(testing.TB)                      { s.Store.Wipe() }
func (s *store) Snapshot(testing.TB) (restore func()) { return s.Store.Snapshot() }
func (s *store) Reincarnate(testing.TB)               { s.become(s.run.Add(1)) }
func (s *store) Flip(testing.TB)                      { s.become(s.run.Add(-1)) }
func (s *store) become(n int64)                       { s.Store.Reincarnate(strconv.FormatInt(n, 10)) }

func (s *store) Drop(t testing.TB, namespace string, what leasetest.Records) {
	s.Rewrite(namespace, func(value []byte) []byte { return leasetest.DropRecord(t, value, what) })
}

func (s *store) Edit(t testing.TB, namespace string, worker int64, field, value string) bool {
	s.Rewrite(namespace, func(record []byte) []byte {
		return edit.Record(t, record, func(parts map[string]string) { edit.Part(t, parts, worker, field, value) })
	})
	return true
}

func (s *store) Delete(t testing.TB, namespace string, worker int64) {
	s.Rewrite(namespace, func(record []byte) []byte {
		return edit.Record(t, record, func(parts map[string]string) { delete(parts, edit.Name(worker)) })
	})
}

func (s *store) Traits() leasetest.Traits {
	return leasetest.Traits{LeastRecentlyUsed: true, Incarnation: s.compared, StandsStill: s.still, Bubble: !s.still}
}

func TestContract(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(testing.TB) leasetest.Store { return newStore(true, true) })
}

// TestContractHostClock tests a store without a clock and an incarnation.
func TestContractHostClock(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(testing.TB) leasetest.Store { return newStore(false, false) })
}

func TestOperator(t *testing.T) {
	t.Parallel()
	leasetest.RunOperator(t, func(testing.TB) leasetest.Store { return newStore(true, true) })
}

func request(namespace string) lease.Request {
	return lease.Request{
		Namespace: namespace, Layout: "l", Holder: "h", Owner: lease.NewOwner(),
		Pool: 4, Last: 3, TTL: time.Minute, MaxTTL: time.Minute, Skew: time.Second,
	}
}

// Retrying after a lost reply gives one grant, whether or not the Swap took effect.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	away := errors.New("connection reset")
	for name, fault := range map[string]func(*store){
		"not done": func(s *store) { s.before = func() error { s.before = nil; return away } },
		"done":     func(s *store) { s.after = away },
	} {
		s := newStore(true, true)
		c := casstore.New(s)
		req := request("orders")
		require.NoError(t, c.Extras().Init(t.Context(), req))

		fault(s)
		_, err := c.Acquire(t.Context(), req)
		require.ErrorIs(t, err, away, name)
		require.ErrorContains(t, err, `namespace "orders"`)
		g, err := c.Acquire(t.Context(), req)
		require.NoError(t, err)

		s.Sleep(10 * time.Second)
		fault(s)
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, away, name)
		renewed, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
		require.Equal(t, g.Ceiling+10_000, renewed.Ceiling)

		fault(s)
		require.ErrorIs(t, c.Release(t.Context(), renewed, renewed.Floor), away, name)
		if err := c.Release(t.Context(), renewed, renewed.Floor); err != nil {
			require.ErrorIs(t, err, lease.ErrLost)
		}
		slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.Len(t, slots, 4)
		for _, slot := range slots {
			require.Empty(t, slot.Holder, "one slot was taken, and given back")
		}
	}
}

// A borrow reads from one server and writes to another, which has the record with its version,
// and has forgotten a grant of the same worker id. Nobody uses what was lent, not even when
// the same owner asks again.
func TestBorrowAcrossAFailover(t *testing.T) {
	t.Parallel()
	s := newStore(true, true)
	c, req := casstore.New(s), request("orders")
	req.Last, req.MaxLead = 0, req.MaxTTL
	require.NoError(t, c.Extras().Init(t.Context(), req))
	var forgotten lease.Grant
	s.before = func() error {
		s.before = nil
		failover, other := s.Snapshot(t), req
		other.Owner = lease.NewOwner()
		var err error
		forgotten, err = casstore.New(s).Acquire(t.Context(), other)
		require.NoError(t, err)
		failover()
		s.Reincarnate(t)
		return nil
	}
	_, err := c.Acquire(t.Context(), req)
	require.ErrorContains(t, err, "another server answered")
	quarantine := (*lease.QuarantineError)(nil)
	_, err = c.Acquire(t.Context(), req)
	require.ErrorAs(t, err, &quarantine)
	s.Sleep(quarantine.Wait())
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	require.GreaterOrEqual(t, g.Floor, forgotten.Ceiling)
}

func TestConflictsEndWithTheContext(t *testing.T) {
	t.Parallel()
	s := newStore(true, true)
	s.before = func() error { return casstore.ErrChanged }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := casstore.New(s).Acquire(ctx, request("orders"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// A call that waits for its turn behind a hanging one ends with its context.
func TestTurnEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := &hanging{newStore(true, true), make(chan struct{}, 1)}
	c := casstore.New(s)
	first, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Extras().Init(first, request("orders")) }()
	<-s.reached
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Extras().Init(ctx, request("orders")), context.DeadlineExceeded)
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, c.Extras().Init(ctx, request("another")), "another namespace does not wait")
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}

type hanging struct {
	*store
	reached chan struct{}
}

func (h *hanging) Load(ctx context.Context, name string) (casstore.Record, error) {
	if name == "another" {
		return h.store.Load(ctx, name)
	}
	h.reached <- struct{}{}
	<-ctx.Done()
	return casstore.Record{}, ctx.Err()
}

func TestWhatCannotBe(t *testing.T) {
	t.Parallel()
	s := newStore(true, true)
	c := casstore.New(s)
	req := request("orders")
	req.Pool, req.Last = casstore.MaxPool+1, 0
	_, err := c.Acquire(t.Context(), req)
	require.ErrorIs(t, err, lease.ErrSetup)
	require.ErrorContains(t, err, "pool 4097")

	require.Equal(t, "memory", lease.Name(c))
	require.Equal(t, "casstore_test.unnamed", lease.Name(casstore.New(unnamed{s})))

	const damaged = `{"0":{"mark":-1}}`
	s.Rewrite("orders", func([]byte) []byte { return []byte(damaged) })
	_, err = c.Acquire(t.Context(), request("orders"))
	require.ErrorIs(t, err, lease.ErrDamaged)
	require.ErrorIs(t, err, lease.ErrSetup)
	require.ErrorContains(t, err, `namespace "orders" in memory`)
	r, err := s.Load(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, damaged, string(r.Value), "nothing was changed")
}

type unnamed struct{ casstore.Store }

// A secretive store is a value with a password in it, and fails.
type secretive struct{ dsn string }

func (secretive) Load(context.Context, string) (casstore.Record, error) {
	return casstore.Record{}, errors.New("down")
}

func (secretive) Swap(context.Context, string, string, []byte) (string, error) {
	return "", errors.New("down")
}

// Errors and formatted centers name the type of such a store, and show nothing of its fields.
func TestShowsNoFieldOfTheStore(t *testing.T) {
	t.Parallel()
	c := casstore.New(secretive{"app:s3cr3t@tcp(db)/shop"})
	_, err := c.Acquire(t.Context(), request("orders"))
	require.ErrorContains(t, err, "casstore_test.secretive")
	_, failed := c.Extras().Operator.Record(t.Context(), "orders")
	require.NotContains(t, fmt.Sprint(err, failed), "s3cr3t")
	for _, form := range []string{"%v", "%+v", "%s"} {
		require.Equal(t, "casstore_test.secretive", fmt.Sprintf(form, c))
	}
	require.Equal(t, "casstore_test.secretive", c.Extras().Name)
}
