package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/numberstore"
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

// A lister is a database, which knows its names.
type lister interface {
	Names(ctx context.Context, prefix string, each func(name string, given int64) error) error
}

// withSegments runs do on the numbers of the store, which are those of a series or not.
func withSegments(cmd *cobra.Command, f *storeFlags, series bool, do func(context.Context, target.Segments) error) error {
	return f.with(cmd, func(ctx context.Context, o *target.Opened) error {
		s, err := o.Segments()
		if err != nil {
			return err
		}
		if _, ok := s.(lister); !ok && series {
			return fmt.Errorf("the numbers of a series are in a database, and %s is none: name the database with --store", s)
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
		Long: `List shows the greatest number that each sequence of the namespace, or of all, has given. With
--series, it shows the scopes of a series, such as shop/invoices.acme, and the first day of the
period that each counts in.`,
		Example: `  snowlease segment list
  snowlease segment list --namespace shop --series invoices`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ofSeries := cmd.Flags().Changed("series")
			if ofSeries && (series == "" || numberstore.CheckName(numberstore.Key("", series)) != nil) {
				return fmt.Errorf("--series %s is not the name of a series, such as invoices", printable.Quote(series))
			}
			if err := store.complete(cmd, !ofSeries); err != nil {
				return err
			}
			prefix := ""
			if store.namespace != "" {
				prefix = numberstore.Key(store.namespace, "")
			}
			if ofSeries {
				prefix += series + "."
			}
			return withSegments(cmd, &store, ofSeries, func(ctx context.Context, s target.Segments) error {
				list, ok := s.(lister)
				if !ok {
					return fmt.Errorf("%s has no list of its sequences: a SQL database has one", s)
				}
				none, out := true, cmd.OutOrStdout()
				err := list.Names(ctx, prefix, func(name string, given int64) error {
					line := lineOf(name, given, ofSeries)
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
	store.register(cmd, p)
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

// String returns the number, with its period.
func (l segmentLine) String() string {
	if l.Period == "" {
		return strconv.FormatInt(l.Number, 10)
	}
	return fmt.Sprintf("%d in the period from %s on", l.Number, l.Period)
}

// lineOf describes a number. One of a series has its period before it, unless it has none.
func lineOf(name string, given int64, series bool) segmentLine {
	l := segmentLine{Name: printable.Text(name), Given: given, Number: given}
	if day, err := time.Parse("20060102", strconv.FormatInt(given/seriesPeriod, 10)); series && err == nil {
		l.Period, l.Number = day.Format(time.DateOnly), given%seriesPeriod
	}
	return l
}

func segmentCreateCommand(p program) *cobra.Command {
	var (
		store = storeFlags{creates: true}
		name  numberFlags
		start int64
	)
	cmd := &cobra.Command{
		Use:   "create --name NAME [flags]",
		Short: "Create a sequence",
		Long: `Create creates a sequence whose first number is --start. If the name exists, it changes
nothing and exits with 3. After a loss of data, stop all processes that use the sequence,
and start above all numbers in use and all numbers that were reserved ahead.
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
				if errors.Is(err, segment.ErrExists) {
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

func segmentResumeCommand(p program) *cobra.Command {
	var (
		store storeFlags
		name  numberFlags
		above int64
		yes   bool
	)
	cmd := &cobra.Command{
		Use:   "resume --name NAME --above N [flags]",
		Short: "Continue a sequence above the numbers in use",
		Long: `Resume continues a sequence above --above, the highest number in use anywhere. A sequence
that is already higher stays there. No command lowers it again. Use it:

  - after a Redis was restarted or failed over, and may have forgotten numbers it issued;
  - after a database was restored from a backup, before any process reserves numbers.

First stop the processes that have reserved numbers ahead, or leave room for their numbers.
` + ofSeries,
		Example: `  snowlease segment resume --namespace shop --name orders --above 48210
  snowlease segment resume --namespace shop --name invoices.acme --period 2026-11-01 --above 42`,
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
				given, err = s.Given(ctx, name.key)
				return err
			}); err != nil {
				return err
			}
			if err := store.confirm(cmd, yes, "The greatest number of %q on record is %s. Continue above %s? Numbers up to there are never given again. Stop the processes that use it first, or leave room: twice max_step for each.",
				name.key, name.line(given), name.line(max(given, above))); err != nil {
				return err
			}
			return withSegments(cmd, &store, name.series(), func(ctx context.Context, s target.Segments) error {
				if r, ok := s.(interface {
					Resume(ctx context.Context, name string, above int64) error
				}); ok {
					if err := r.Resume(ctx, name.key, above); err != nil {
						return err
					}
				} else if given < above { // reserve the number above and discard it
					_, err := s.Reserve(ctx, numberstore.Request{Name: name.key, N: 1, Above: above - 1, Start: 1, Max: above})
					if err != nil && !errors.Is(err, segment.ErrEnd) { // it went on since
						return err
					}
				}
				given, err := s.Given(ctx, name.key)
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

// seriesPeriod is the numbers of a period of a series: the first day, as yyyymmdd, stands before them.
const seriesPeriod = 10_000_000_000

// ofSeries is the help on numbers of a series.
const ofSeries = `
A series has a name for each of its scopes, such as invoices.acme, and invoices. without one.
Its numbers begin anew in each period, so --period says which one the number is of. With a dot in
the name, --period is required.`

// numberFlags name a sequence, and the period of a number. complete sets the key in the store.
type numberFlags struct{ name, period, key string }

func segmentFlags(cmd *cobra.Command, p program, store *storeFlags, n *numberFlags) {
	store.register(cmd, p)
	cmd.Flags().StringVar(&n.name, "name", "", "the name of the sequence (required)")
	cmd.Flags().StringVar(&n.period, "period", "", "of a series: the first day of the period of the number, such as 2026-11-01, or none if it has no periods")
}

// complete checks the flags, and returns the number as the store has it.
func (n *numberFlags) complete(cmd *cobra.Command, store *storeFlags, number int64, flag string) (int64, error) {
	if n.name == "" || numberstore.CheckName(numberstore.Key("", n.name)) != nil {
		return 0, fmt.Errorf("--name %s is not the name of a sequence, such as orders", printable.Quote(n.name))
	}
	if number < 1 {
		return 0, fmt.Errorf("--%s %d is below 1", flag, number)
	}
	switch dot := strings.Contains(n.name, "."); {
	case dot && n.period == "":
		return 0, fmt.Errorf("%q may be of a series: add --period, the first day of the period of --%s %d, such as 2026-11-01, or --period none", n.name, flag, number)
	case !dot && n.series():
		return 0, fmt.Errorf("--name %s is not of a series: its numbers are named %[1]s.SCOPE, or %[1]s. without a scope", n.name)
	case n.series():
		day, err := time.Parse(time.DateOnly, n.period)
		if err != nil || day.Year() < 1000 {
			return 0, fmt.Errorf("--period %s is neither a day such as 2026-11-01 nor none", printable.Quote(n.period))
		}
		if number >= seriesPeriod {
			return 0, fmt.Errorf("--%s %d is not a number of a period, which has at most ten digits", flag, number)
		}
		year, month, date := day.Date()
		number += int64(year*10_000+int(month)*100+date) * seriesPeriod
	}
	err := store.complete(cmd, false)
	n.key = numberstore.Key(store.namespace, n.name)
	return number, err
}

// series reports whether the number is of a series with periods.
func (n numberFlags) series() bool { return n.period != "" && n.period != "none" }

func (n numberFlags) line(number int64) segmentLine { return lineOf(n.key, number, n.series()) }

func segmentDone(cmd *cobra.Command, f *storeFlags, s target.Segments, name numberFlags, what string, n int64) error {
	where := s.String()
	if _, isSQL := s.(lister); isSQL && f.tables() != "" {
		where += ", tables " + f.tables() + "*"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%q at %s: %s %s\n", name.key, where, what, name.line(n))
	return err
}
