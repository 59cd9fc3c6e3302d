package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/internal/cli/target"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/numbers/segment"
)

func segmentCommand(p program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "segment",
		Short: "List number sequences, create them, and resume them after a loss",
		Long: `Segment manages the named sequences of numbers that package segment issues, in a SQL
database or Redis.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(segmentListCommand(p), segmentCreateCommand(p), segmentResumeCommand(p))
	return cmd
}

// withSegments runs do on the numbers of the store.
func withSegments(cmd *cobra.Command, f *storeFlags, do func(context.Context, target.Segments) error) error {
	return f.with(cmd, func(ctx context.Context, o *target.Opened) error {
		s, err := o.Segments()
		if err != nil {
			return err
		}
		return do(ctx, s)
	})
}

func segmentListCommand(p program) *cobra.Command {
	var (
		store  storeFlags
		series string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list [--series NAME] [flags]",
		Short: "List the sequences of a database, or the scopes of a series",
		Long: `List shows the greatest number that each sequence has given, and for a scope of a series,
such as invoices.acme, the first day of the period that it counts in.`,
		Example: `  snowlease segment list
  snowlease segment list --series invoices`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			prefix := ""
			if cmd.Flags().Changed("series") {
				prefix = series + "."
				if err := segment.CheckName(prefix); err != nil || series == "" {
					return fmt.Errorf("--series %s is not the name of a series, such as invoices", printable.Quote(series))
				}
			}
			if err := store.complete(cmd, true); err != nil {
				return err
			}
			return withSegments(cmd, &store, func(ctx context.Context, s target.Segments) error {
				list, ok := s.(interface {
					Names(ctx context.Context, prefix string, each func(name string, given int64) error) error
				})
				if !ok {
					return fmt.Errorf("%s has no list of its sequences: a SQL database has one", s)
				}
				none, out := true, cmd.OutOrStdout()
				err := list.Names(ctx, prefix, func(name string, given int64) error {
					line := lineOf(name, given)
					if asJSON {
						return printJSON(out, line)
					}
					if none {
						fmt.Fprintf(out, segmentColumns, "NUMBER", "PERIOD", "NAME")
					}
					none = false
					_, err := fmt.Fprintf(out, segmentColumns, strconv.FormatInt(line.Number, 10), line.Period, line.Name)
					return err
				})
				if err == nil && none && !asJSON {
					_, err = fmt.Fprintf(out, "no sequences at %s\n", s)
				}
				return err
			})
		},
	}
	store.numbers = true
	store.register(cmd, p)
	must(cmd.Flags().MarkHidden("namespace"))
	cmd.Flags().StringVar(&series, "series", "", "only the scopes of this series")
	jsonFlag(cmd, &asJSON)
	return cmd
}

const segmentColumns = "%19s  %-10s  %s\n"

type segmentLine struct {
	Name   string `json:"name"`
	Given  int64  `json:"given"`            // as it is on record
	Period string `json:"period,omitempty"` // of a series: its first day
	Number int64  `json:"number"`           // the greatest of the period
}

func lineOf(name string, given int64) segmentLine {
	l := segmentLine{Name: printable.Text(name), Given: given, Number: given}
	if strings.Contains(name, ".") && given >= firstPeriod {
		day := given / seriesPeriod
		l.Period = fmt.Sprintf("%04d-%02d-%02d", day/10_000, day/100%100, day%100)
		l.Number = given % seriesPeriod
	}
	return l
}

func segmentCreateCommand(p program) *cobra.Command {
	var (
		store  = storeFlags{creates: true}
		name   string
		start  int64
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "create --name NAME [flags]",
		Short: "Create a sequence",
		Long: `Create creates a sequence whose first number is --start. If the name exists, it changes
nothing and exits with 3. After a loss of data, stop all processes that use the sequence,
and start above all numbers in use and all numbers that were reserved ahead.`,
		Example: `  snowlease segment create --name orders --start 1000`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := completeSegment(cmd, &store, name, start, "start"); err != nil {
				return err
			}
			return withSegments(cmd, &store, func(ctx context.Context, s target.Segments) error {
				err := s.Create(ctx, name, start)
				if errors.Is(err, segment.ErrExists) {
					return failure{exitNo, fmt.Errorf("%w at %s; nothing changed", err, s)}
				}
				if err != nil {
					return err
				}
				return segmentDone(cmd, asJSON, s, name, "created", start)
			})
		},
	}
	segmentFlags(cmd, p, &store, &name, &asJSON)
	cmd.Flags().Int64Var(&start, "start", 1, "the first number")
	return cmd
}

func segmentResumeCommand(p program) *cobra.Command {
	var (
		store       storeFlags
		name        string
		above       int64
		yes, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "resume --name NAME --above N [flags]",
		Short: "Continue a sequence above the numbers in use",
		Long: `Resume continues a sequence above --above, the highest number in use anywhere. A sequence
that is already higher stays there. No command lowers it again. Use it:

  - after a Redis was restarted or failed over, and may have forgotten numbers it issued;
  - after a database was restored from a backup, before any process reserves numbers.

First stop the processes that have reserved numbers ahead, or leave room for their numbers.

A series has a name for each of its scopes, such as invoices.acme, and its numbers are the
first day of a period and ten digits, such as 202611010000000042.`,
		Example: `  snowlease segment resume --name orders --above 48210`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := completeSegment(cmd, &store, name, above, "above"); err != nil {
				return err
			}
			if above == math.MaxInt64 {
				return fmt.Errorf("--above %d leaves no number", above)
			}
			var given int64
			if err := withSegments(cmd, &store, func(ctx context.Context, s target.Segments) (err error) {
				given, err = s.Given(ctx, name)
				return err
			}); err != nil {
				return err
			}
			if given >= firstPeriod && above < seriesPeriod { // of a series
				return fmt.Errorf("%q is of a series, whose numbers are the first day of a period and ten digits: %d is on record, so give --above %d", name, given, given/seriesPeriod*seriesPeriod+above)
			}
			if err := store.confirm(cmd, yes, "The greatest number of %q on record is %d. Continue above %d? Numbers up to there are never given again. Stop the processes that use it first, or leave room: twice max_step for each.", name, given, max(given, above)); err != nil {
				return err
			}
			return withSegments(cmd, &store, func(ctx context.Context, s target.Segments) error {
				if r, ok := s.(interface {
					Resume(ctx context.Context, name string, above int64) error
				}); ok {
					if err := r.Resume(ctx, name, above); err != nil {
						return err
					}
				} else if given < above { // reserve the number above and discard it
					if _, err := s.Reserve(ctx, segment.Request{Name: name, N: 1, Above: above - 1, Start: 1, Max: math.MaxInt64}); err != nil {
						return err
					}
				}
				given, err := s.Given(ctx, name)
				if err != nil {
					return err
				}
				return segmentDone(cmd, asJSON, s, name, "goes on above", given)
			})
		},
	}
	segmentFlags(cmd, p, &store, &name, &asJSON)
	cmd.Flags().Int64Var(&above, "above", 0, "the highest number in use")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	must(cmd.MarkFlagRequired("above"))
	return cmd
}

const (
	// seriesPeriod is the numbers of a period of a series: the first day, as yyyymmdd, stands before them.
	seriesPeriod = 10_000_000_000
	firstPeriod  = 1000_01_01 * seriesPeriod
)

func segmentFlags(cmd *cobra.Command, p program, store *storeFlags, name *string, asJSON *bool) {
	store.numbers = true
	store.register(cmd, p)
	must(cmd.Flags().MarkHidden("namespace"))
	cmd.Flags().StringVar(name, "name", "", "the name of the sequence (required)")
	jsonFlag(cmd, asJSON)
}

func completeSegment(cmd *cobra.Command, store *storeFlags, name string, n int64, flag string) error {
	if err := segment.CheckName(name); err != nil {
		return fmt.Errorf("--name: %w", err)
	}
	if n < 1 {
		return fmt.Errorf("--%s %d is below 1", flag, n)
	}
	return store.complete(cmd, true)
}

func segmentDone(cmd *cobra.Command, asJSON bool, s target.Segments, name, what string, n int64) error {
	return answer(cmd, asJSON, map[string]any{"name": name, "store": s.String(), "what": what, "number": n},
		"%q at %s: %s %d\n", name, s, what, n)
}
