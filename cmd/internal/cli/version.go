package cli

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go,omitempty"`
}

// versionOf reads what the go command wrote into the program. A program that was installed by
// its version has no revision, and needs none.
func versionOf(info *debug.BuildInfo) version {
	v := version{Version: "(unknown)"}
	if info == nil {
		return v
	}
	v.Version, v.Go = info.Main.Version, info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v version) String() string {
	text := v.Version + " " + v.Revision
	if v.Modified {
		text += " (modified)"
	}
	return strings.Join(strings.Fields(text+" "+v.Go), " ")
}

func versionCommand(p program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			v := versionOf(info)
			if asJSON {
				return failed(printJSON(cmd.OutOrStdout(), v))
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), p.Name, v)
			return failed(err)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
