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
		store = storeFlags{creates: true}
		name  numberFlags
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
			start, err := name.complete(cmd, &store, start, "start")
			if err != nil {
				return err
			}
			return withSegments(cmd, &store, name.series(), func(ctx context.Context, s target.Segments) error {
				err := s.Create(ctx, name.key, start)
				if errors.Is(err, numbers.ErrExists) {
					return failure{exitNo, fmt.Errorf("%w at %s; nothing changed", err, s)}
				}
				if err != nil {
					return err
				}
				return segmentDone(cmd, &store, s, name, "created", start)
			})
		},
	}
	segmentFlags(cmd, p, &store, &name)
	cmd.Flags().Int64Var(&start, "start", 1, "the first number")
	return cmd
}
