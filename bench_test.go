package snowlease_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/snowflake"
)

// BenchmarkNextID compares the worker with its bare generator.
func BenchmarkNextID(b *testing.B) {
	w, err := snowlease.Fixed(snowflake.Layout{WorkerBits: 1, SequenceBits: 22}, 1)
	require.NoError(b, err)
	b.Run("serial", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.NextID(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := w.NextID(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
