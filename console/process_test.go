package console

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	deps := []*debug.Module{{Path: "github.com/snowlease/snowlease/metrics", Version: "v9"}, {Path: module, Version: "v0.9.0"}}
	require.Equal(t, "v0.9.0", library(&debug.BuildInfo{Deps: deps}))
	deps[1].Replace = &debug.Module{Path: "../snowlease"}
	require.Equal(t, "replaced by ../snowlease", library(&debug.BuildInfo{Deps: deps}))
	require.Equal(t, "v0.9.0", library(&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.9.0"}}))
	require.Equal(t, "(unknown)", library(&debug.BuildInfo{}))
}
