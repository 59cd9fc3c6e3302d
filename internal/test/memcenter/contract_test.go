package memcenter_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/internal/test/edit"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(testing.TB) leasetest.Store { return newStore(true) })
}

// TestContractNever runs the contract without comparing incarnations.
func TestContractNever(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(testing.TB) leasetest.Store { return newStore(false) })
}

// store is a memcenter.Center with the faults of the suite.
type store struct {
	center      *memcenter.Center
	compared    bool
	incarnation atomic.Int64
}

func newStore(compared bool) *store {
	s := &store{center: memcenter.New(), compared: compared}
	if !compared {
		s.center.Reincarnate("")
	}
	return s
}

func (s *store) Center(testing.TB) lease.Center       { return s.center }
func (s *store) Sleep(d time.Duration)                { s.center.Advance(d) }
func (s *store) Wipe(testing.TB)                      { s.center.Wipe() }
func (s *store) Snapshot(testing.TB) (restore func()) { return s.center.Snapshot() }
func (s *store) Reincarnate(testing.TB)               { s.become(s.incarnation.Add(1)) }
func (s *store) Flip(testing.TB)                      { s.become(s.incarnation.Add(-1)) }
func (s *store) Traits() leasetest.Traits {
	return leasetest.Traits{LeastRecentlyUsed: true, Incarnation: s.compared}
}

func (s *store) become(n int64) {
	if s.compared {
		s.center.Reincarnate(strconv.FormatInt(n, 10))
	}
}

func (s *store) Edit(t testing.TB, namespace string, worker int64, field, value string) bool {
	s.center.Rewrite(namespace, func(record []byte) []byte {
		return edit.Record(t, record, func(parts map[string]string) { edit.Part(t, parts, worker, field, value) })
	})
	return true
}

func (s *store) Delete(t testing.TB, namespace string, worker int64) {
	s.center.Rewrite(namespace, func(record []byte) []byte {
		return edit.Record(t, record, func(parts map[string]string) { delete(parts, edit.Name(worker)) })
	})
}

func (s *store) Drop(t testing.TB, namespace string, what leasetest.Records) {
	s.center.Rewrite(namespace, func(value []byte) []byte { return leasetest.DropRecord(t, value, what) })
}
