package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/schema"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration, or print its JSON Schema",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "schema",
			Short: "Print the JSON Schema of idworker.Config",
			Long: `Schema prints the JSON Schema of idworker.Config with a description of every key. Editors
use it to complete and check YAML.`,
			Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := io.WriteString(cmd.OutOrStdout(), schema.Config())
				return failed(err)
			},
		},
		configCheckCommand(),
	)
	return cmd
}

func configCheckCommand() *cobra.Command {
	var (
		key    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "check FILE|-",
		Short: "Check the idworker part of a YAML file",
		Long: `Check reads a YAML file and prints the position of each fault in its idworker
configuration: unknown keys, values of a wrong type, settings that conflict. It connects
to no store; "snowlease doctor --config FILE" does. It exits with 3 if it finds faults.`,
		Example: `  snowlease config check config.yaml
  snowlease config check --key orders.ids config.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the file: snowlease config check config.yaml")
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var (
				text []byte
				err  error
			)
			if args[0] == "-" {
				text, err = io.ReadAll(cmd.InOrStdin())
			} else {
				text, err = os.ReadFile(args[0])
			}
			if err != nil {
				return failed(err)
			}
			checked, err := checkConfig(text, key)
			if err != nil {
				return failed(fmt.Errorf("%s: %w", args[0], err))
			}
			out := cmd.OutOrStdout()
			for _, f := range checked.faults {
				if asJSON {
					err = errors.Join(err, printJSON(out, f))
				} else {
					_, e := fmt.Fprintf(out, "%s:%d:%d: %s\n", args[0], f.Line, f.Column, f.Text)
					err = errors.Join(err, e)
				}
			}
			if err != nil {
				return failed(err)
			}
			if n := len(checked.faults); n > 0 {
				return failure{exitNo, fmt.Errorf("%s has faults: %d", args[0], n)}
			}
			if l := checked.config.WithDefaults().Lease; !asJSON && l.MaxTTL > lease.DefaultTTL {
				_, err = fmt.Fprintf(out, "%s: in a namespace whose processes have a lower lease.max_ttl, give all of them lease.max_ttl: %v first, and a lease.ttl above theirs in a second rollout\n", args[0], l.MaxTTL)
			}
			if !asJSON && err == nil {
				_, err = fmt.Fprintf(out, "%s: %s is valid; \"snowlease doctor --config\" compares it with the namespace\n", args[0], cmp.Or(checked.key, "the whole file"))
			}
			return failed(err)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", keyHelp)
	jsonFlag(cmd, &asJSON)
	return cmd
}
