package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/internal/schema"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration, or print its JSON Schema",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configCheckCommand(), configSchemaCommand())
	return cmd
}

func configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of idworker.Config",
		Long: `Schema prints the JSON Schema of idworker.Config with a description of every key. Editors
use it to complete and check YAML.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), schema.Config())
			return failed(err)
		},
	}
}
