package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx/fxtest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestLog(t *testing.T) {
	t.Parallel()
	core, lines := observer.New(zapcore.InfoLevel)
	logger := func(...zap.Option) (*zap.Logger, error) { return zap.New(core), nil }
	app := fxtest.New(t, wiring(logger, t.TempDir()))
	app.RequireStart().RequireStop()
	started := lines.FilterMessage("idworker started").All()
	require.Len(t, started, 1)
	require.Equal(t, "idworker", started[0].LoggerName)
	require.Contains(t, started[0].ContextMap(), "worker")
}
