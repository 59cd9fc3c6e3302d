package idworker_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
)

// WithLogger makes Open log the same events as fx.
func TestOpenTakesALogger(t *testing.T) {
	t.Parallel()
	cfg, center := idworker.Config{Namespace: "orders"}, memcenter.New()
	initialize(t, center, cfg)
	var j journal
	for _, log := range []*slog.Logger{nil, j.logger()} {
		w, err := idworker.Open(t.Context(), cfg, idworker.WithCenter(center), idworker.WithLogger(log))
		require.NoError(t, err)
		require.NoError(t, w.Stop(t.Context()))
	}
	require.Len(t, j.Lines(), 3)
	for i, event := range []string{"worker id borrowed", "idworker started", "worker id given back"} {
		require.Contains(t, j.Lines()[i], `msg="`+event+`"`)
	}
}
