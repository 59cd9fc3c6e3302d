//go:build prove

package counter_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
)

// TestHugeTexts: a text of 60 MB in any field costs a process neither memory nor time.
func TestHugeTexts(t *testing.T) {
	s, _ := redistest.StartReal(t)
	m, err := counter.New(s.Client(t), counter.Config{Namespace: "orders"}, s.Options...)
	require.NoError(t, err)
	defer m.Close()
	_, _, _ = m.Reserve(t.Context(), 1)
	huge := strings.Repeat("9", 60<<20)
	was := s.Admin.HGetAll(t.Context(), sequenceKey).Val()
	require.NotEmpty(t, was)
	for field := range was {
		s.Wipe(t)
		require.NoError(t, s.Admin.HSet(t.Context(), sequenceKey, was).Err())
		require.NoError(t, s.Admin.HSet(t.Context(), sequenceKey, field, huge).Err())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := m.Reserve(t.Context(), 1)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), field)
		if err != nil {
			require.Less(t, len(err.Error()), 1500, field)
		}
	}
	s.Wipe(t)
}
