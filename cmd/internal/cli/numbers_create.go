package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/numbers"
)

func segmentCreateCommand(p program) *cobra.Command {
	var (
		name  = numberFlags{store: storeFlags{creates: true}}
		start int64
	)
	cmd := &cobra.Command{
		Use:   "create --name NAME [flags]",
		Short: "Create a sequence",
		Long: `Create creates a sequence whose first number is --start. If the name exists, create changes
nothing and exits with 3. After a loss of data, stop all processes that use the sequence,
and choose --start above all numbers in use and all numbers that were reserved ahead.
` + ofSeries,
		Example: `  snowlease segment create --namespace shop --name orders --start 1000
  snowlease segment create --namespace shop --name invoices.acme --period 2026-11-01 --start 501`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start, err := name.complete(cmd, start, "start")
			if err != nil {
				return err
			}
			return name.change(cmd, "created", func(ctx context.Context, s target.Segments) (int64, error) {
				err := s.Create(ctx, name.key, start)
				if errors.Is(err, numbers.ErrExists) {
					err = failure{exitNo, fmt.Errorf("%w at %s; nothing changed", err, s)}
				}
				return start, err
			})
		},
	}
	name.register(cmd, p)
	cmd.Flags().Int64Var(&start, "start", 1, "the first number")
	return cmd
}
