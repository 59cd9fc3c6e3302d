package console

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	revision := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: modified}}
	}
	for want, info := range map[string]*debug.BuildInfo{
		"v1.4.2":                  {Main: debug.Module{Path: "shop", Version: "v1.4.2"}, Settings: revision("false")},
		"0123456789ab":            {Main: debug.Module{Path: "shop", Version: "(devel)"}, Settings: revision("false")},
		"0123456789ab (modified)": {Main: debug.Module{Path: "shop"}, Settings: revision("true")},
		"(devel)":                 {Main: debug.Module{Path: "shop"}},
	} {
		require.Equal(t, want, version(info))
	}
	deps := []*debug.Module{{Path: "github.com/snowlease/snowlease/metrics", Version: "v9"}, {Path: module, Version: "v0.9.0"}}
	require.Equal(t, "v0.9.0", library(&debug.BuildInfo{Deps: deps}))
	deps[1].Replace = &debug.Module{Path: "../snowlease"}
	require.Equal(t, "replaced by ../snowlease", library(&debug.BuildInfo{Deps: deps}))
	require.Equal(t, "v0.9.0", library(&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.9.0"}}))
	require.Equal(t, "(unknown)", library(&debug.BuildInfo{}))
}
