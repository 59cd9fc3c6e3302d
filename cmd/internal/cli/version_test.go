package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOfABuild(t *testing.T) {
	t.Parallel()
	build := func(version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	for want, info := range map[string]*debug.BuildInfo{
		"v0.1.0 go1.26.0":                         build("v0.1.0"),
		"v0.1.0 1f2e3d go1.26.0":                  build("v0.1.0", "vcs", "git", "vcs.revision", "1f2e3d", "vcs.modified", "false"),
		"v0.1.0+dirty 1f2e3d (modified) go1.26.0": build("v0.1.0+dirty", "vcs.revision", "1f2e3d", "vcs.modified", "true"),
		"(unknown)":                               nil,
	} {
		require.Equal(t, want, versionOf(info).String())
	}
}
