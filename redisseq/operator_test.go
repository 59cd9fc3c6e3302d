package redisseq_test

import (
	"testing"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
	"github.com/snowlease/snowlease/redisseq"
)

func TestOperator(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.RunOperator(t, func(t testing.TB) leasetest.Store { return engine(t) })
		})
	}
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		leasetest.RunOperator(t, func(t testing.TB) leasetest.Store {
			s := newMini(t, redisseq.WithQuarantine(lease.QuarantineNever))
			s.withoutIncarnation = true
			return s
		})
	})
}
