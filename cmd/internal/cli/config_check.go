package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/internal/settings"
)

func checkCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "check FILE|-",
		Short: "Check the idworker configuration in a YAML file",
		Long: `Check reads a YAML file and prints each fault of its idworker configuration with its line:
first unknown keys and values of a wrong type, then settings that conflict. It does not
connect to a store; "snowlease doctor --config FILE" does. It exits with 3 if it finds faults.`,
		Example: `  snowlease check config.yaml
  snowlease check --key orders.ids config.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			text, err := input(cmd, file)
			if err != nil {
				return failed(err)
			}
			c, faults, err := parseConfig(text, key)
			if err != nil {
				return failed(fmt.Errorf("%s: %w", file, err))
			}
			for _, f := range faults {
				fmt.Fprintf(cmd.OutOrStdout(), "%s:%s\n", file, f)
			}
			if n := len(faults); n > 0 {
				return failure{exitNo, fmt.Errorf("%s has faults: %d", file, n)}
			}
			if text := settings.FewIDs(layoutOf(c)); text != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: layout: %s\n", file, text)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is valid; \"snowlease doctor --config\" compares it with the namespace\n", file)
			return nil
		},
	}
	keyFlag(cmd, &key)
	return cmd
}
