package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/snowflake"
)

func encodeCommand() *cobra.Command {
	var (
		layout layoutFlags
		parts  snowflake.Parts
		when   string
	)
	cmd := &cobra.Command{
		Use:   "encode [flags]",
		Short: "Build an id from its parts",
		Long: `Encode builds an id from its parts, for tests and for the bounds of a time range in a
query.

Do not use it to issue ids: a running process may issue the same id.`,
		Example: `  snowlease encode --time 2026-01-01T00:00:00Z          # WHERE id >= this: rows since then`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := layout.read(cmd)
			if err != nil {
				return err
			}
			parts.Time = time.Now()
			if when != "" {
				if parts.Time, err = parseTime(when); err != nil {
					return fmt.Errorf("--time %w", err)
				}
			}
			id, err := l.Encode(parts)
			if err != nil {
				return failed(err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), id)
			return nil
		},
	}
	layout.register(cmd)
	layout.app.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&when, "time", "", "the time, RFC 3339 or Unix milliseconds (default: now)")
	flags.Int64Var(&parts.Worker, "worker", 0, "the worker id")
	flags.Int64Var(&parts.Business, "business", 0, "the business number")
	flags.Int64Var(&parts.Sequence, "sequence", 0, "the number within the tick")
	return cmd
}
