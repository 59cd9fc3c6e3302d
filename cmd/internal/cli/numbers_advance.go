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
		store storeFlags
		name  numberFlags
		above int64
		yes   bool
	)
	cmd := &cobra.Command{
		Use:   "advance --name NAME --above N [flags]",
		Short: "Continue a sequence above the numbers in use",
		Long: `Advance continues a sequence above --above, the highest number in use anywhere. A sequence
that is already higher stays there. No command lowers it again. Use it:

  - after a Redis was restarted or failed over, and may have forgotten numbers it issued;
  - after a database was restored from a backup, before any process reserves numbers.

First stop the processes that have reserved numbers ahead, or leave room for their numbers.
` + ofSeries,
		Example: `  snowlease segment advance --namespace shop --name orders --above 48210
  snowlease segment advance --namespace shop --name invoices.acme --period 2026-11-01 --above 42`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			above, err := name.complete(cmd, &store, above, "above")
			if err != nil {
				return err
			}
			if above == math.MaxInt64 {
				return fmt.Errorf("--above %d leaves no number", above)
			}
			var given int64
			if err := withSegments(cmd, &store, name.series(), func(ctx context.Context, s target.Segments) (err error) {
				given, err = s.HighWater(ctx, name.key)
				return err
			}); err != nil {
				return err
			}
			if err := store.confirm(cmd, yes, "The greatest number of %q on record is %s. Continue above %s? Numbers up to there are never given again. Stop the processes that use it first, or leave room: twice max_step for each.",
				name.key, name.line(given), name.line(max(given, above))); err != nil {
				return err
			}
			return withSegments(cmd, &store, name.series(), func(ctx context.Context, s target.Segments) error {
				if err := advance(ctx, s, name.key, given, above); err != nil {
					return err
				}
				given, err := s.HighWater(ctx, name.key)
				if err != nil {
					return err
				}
				return segmentDone(cmd, &store, s, name, "goes on above", given)
			})
		},
	}
	segmentFlags(cmd, p, &store, &name)
	cmd.Flags().Int64Var(&above, "above", 0, "the highest number in use")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	must(cmd.MarkFlagRequired("above"))
	return cmd
}

// advance makes a name go on above a number. given is the greatest on record.
func advance(ctx context.Context, s target.Segments, key string, given, above int64) error {
	if r, ok := s.(interface {
		Advance(ctx context.Context, name string, above int64) error
	}); ok {
		return r.Advance(ctx, key, above)
	}
	if given >= above {
		return nil
	}
	// Reserve the number above and discard it.
	_, err := s.Reserve(ctx, numberstore.Request{Name: key, N: 1, Above: above - 1, Start: 1, Max: above})
	if errors.Is(err, numbers.ErrEnd) { // it went on since
		return nil
	}
	return err
}
