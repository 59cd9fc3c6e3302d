package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(p program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := struct {
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Modified bool   `json:"modified,omitempty"`
				Go       string `json:"go,omitempty"`
			}{Version: "(unknown)"}
			if info, ok := debug.ReadBuildInfo(); ok {
				v.Version, v.Go = info.Main.Version, info.GoVersion
				for _, s := range info.Settings {
					switch s.Key {
					case "vcs.revision":
						v.Revision = s.Value
					case "vcs.modified":
						v.Modified = s.Value == "true"
					}
				}
			}
			if asJSON {
				return failed(printJSON(cmd.OutOrStdout(), v))
			}
			text := p.Name + " " + v.Version
			if v.Revision != "" {
				text += " " + v.Revision
			}
			if v.Modified {
				text += " (modified)"
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), text, v.Go)
			return failed(err)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
