package redisseq_test

import (
	"testing"

	"github.com/snowlease/snowlease/lease/leasetest"
)

func TestContract(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.Run(t, func(t testing.TB) leasetest.Store { return engine(t) })
		})
	}
}
