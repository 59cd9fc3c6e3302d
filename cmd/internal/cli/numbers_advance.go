package cli

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/numbers"
)

func segmentAdvanceCommand(p program) *cobra.Command {
	var (
		name  numberFlags
		above int64
	)
	cmd := &cobra.Command{
		Use:   "advance --name NAME --above N [flags]",
		Short: "Continue a sequence above the numbers in use",
		Long: `Advance makes a sequence continue above --above, the greatest number in use anywhere. It
does not change a sequence that is already higher. No command lowers a sequence. Use it:

  - after a restart or failover of Redis, which may have lost issued numbers;
  - after restoring a database from a backup, before any process reserves numbers.

First stop the processes that have reserved numbers ahead, or leave room for their numbers.
` + ofSeries,
		Example: `  snowlease segment advance --namespace shop --name orders --above 48210
  snowlease segment advance --namespace shop --name invoices.acme --period 2026-11-01 --above 42`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			above, err := name.complete(cmd, above, "above")
			if err != nil {
				return err
			}
			if above == math.MaxInt64 {
				return fmt.Errorf("--above %d leaves no number", above)
			}
			var given int64
			if err := withSegments(cmd, &name.store, name.series(), func(ctx context.Context, s target.Segments) (err error) {
				given, err = s.HighWater(ctx, name.key)
				return err
			}); err != nil {
				return err
			}
			if err := name.store.confirm(cmd, "The greatest recorded number of %q is %s. Continue above %s? Numbers up to that are never issued again. First stop the processes that use the sequence, or leave room: twice max_step for each.",
				name.key, name.line(given), name.line(max(given, above))); err != nil {
				return err
			}
			return name.change(cmd, "continues above", func(ctx context.Context, s target.Segments) (int64, error) {
				if err := advance(ctx, s, name.key, above); err != nil {
					return 0, err
				}
				return s.HighWater(ctx, name.key)
			})
		},
	}
	name.register(cmd, p)
	cmd.Flags().Int64Var(&above, "above", 0, "the greatest number in use")
	name.store.registerYes(cmd)
	must(cmd.MarkFlagRequired("above"))
	return cmd
}

// advance makes a name continue above a number.
func advance(ctx context.Context, s target.Segments, key string, above int64) error {
	if r, ok := s.(interface {
		Advance(ctx context.Context, name string, above int64) error
	}); ok {
		return r.Advance(ctx, key, above)
	}
	// Reserve the number above and discard it.
	_, err := s.Reserve(ctx, numberstore.Request{Name: key, N: 1, Above: above - 1, Start: 1, Max: above})
	if errors.Is(err, numbers.ErrEnd) { // it is there already
		return nil
	}
	return err
}
