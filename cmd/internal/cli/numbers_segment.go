package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/printable"
)

func segmentCommand(p program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "segment",
		Short: "List number sequences, create them, and advance them after a loss",
		Long:  `Segment manages the named sequences of package numbers, in a SQL database or Redis.`,
		Args:  noArgs,
		RunE:  help,
	}
	cmd.AddCommand(segmentListCommand(p), segmentCreateCommand(p), segmentAdvanceCommand(p))
	return cmd
}

// withSegments runs do on the numbers of the store. series is set for numbers of a series, and for a
// list, which only SQL databases have.
func withSegments(cmd *cobra.Command, f *storeFlags, series bool, do func(context.Context, target.Segments) error) error {
	return f.with(cmd, func(ctx context.Context, o *target.Opened) error {
		if _, ok := o.Segments.(numberstore.InTx); !ok && series {
			return fmt.Errorf("only a database has series and a list of its sequences, and %s is none: name the database with --store", o.Segments)
		}
		return do(ctx, o.Segments)
	})
}

// lineOf returns what people read of a recorded number. In a series with periods, its leading digits
// are the first day of the period.
func lineOf(given int64, series bool) (number int64, period string) {
	if day, err := time.Parse("20060102", strconv.FormatInt(given/seriesPeriod, 10)); series && err == nil {
		return given % seriesPeriod, day.Format(time.DateOnly)
	}
	return given, ""
}

// seriesPeriod is the size of a period of a series: a recorded number is the first day, as
// yyyymmdd, times seriesPeriod plus the number of the period.
const seriesPeriod = 10_000_000_000

// ofSeries is the help about numbers of a series.
const ofSeries = `
A series has a name for each scope, such as invoices.acme, or invoices. (with the dot) without
scopes. Its numbers start over in each period, so --period gives the period of the number. It
is required if the name has a dot.`

// numberFlags name a sequence and the period of a number. complete sets key, the name in the
// store.
type numberFlags struct {
	store             storeFlags
	name, period, key string
}

func (n *numberFlags) register(cmd *cobra.Command, p program) {
	n.store.register(cmd, p)
	cmd.Flags().StringVar(&n.name, "name", "", "the name of the sequence (required)")
	cmd.Flags().StringVar(&n.period, "period", "", "for a series: the first day of the number's period, such as 2026-11-01, or none for a series without periods")
}

// complete checks the flags and returns the number as the store records it.
func (n *numberFlags) complete(cmd *cobra.Command, number int64, flag string) (int64, error) {
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
	err := n.store.complete(cmd, false)
	n.key = numberstore.Key(n.store.namespace, n.name)
	if c := n.store.app.config; c != nil { // where a sequence may have a namespace of its own
		own := map[string]string{}
		for _, s := range c.Segments {
			own[s.Name] = s.Namespace
		}
		for _, s := range c.Series {
			own[s.Name+"."] = s.Namespace
		}
		n.key = numberstore.Key(cmp.Or(own[n.name], own[n.name[:strings.IndexByte(n.name, '.')+1]], c.Namespace), n.name)
	}
	return number, err
}

// series reports whether the number belongs to a series with periods.
func (n *numberFlags) series() bool { return n.period != "" && n.period != "none" }

// line describes a recorded number.
func (n *numberFlags) line(given int64) string {
	number, period := lineOf(given, n.series())
	if period == "" {
		return strconv.FormatInt(number, 10)
	}
	return fmt.Sprintf("%d in the period from %s on", number, period)
}

// change runs do on the numbers of the store, and prints what it has done, with the number that it
// returns.
func (n *numberFlags) change(cmd *cobra.Command, done string, do func(context.Context, target.Segments) (int64, error)) error {
	return withSegments(cmd, &n.store, n.series(), func(ctx context.Context, s target.Segments) error {
		number, err := do(ctx, s)
		if err != nil {
			return err
		}
		where := s.String()
		if _, isSQL := s.(numberstore.InTx); isSQL && n.store.tables() != "" {
			where += ", tables " + n.store.tables() + "*"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%q at %s: %s %s\n", n.key, where, done, n.line(number))
		return nil
	})
}
