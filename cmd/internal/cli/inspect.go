package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate"
	"github.com/snowlease/snowlease/snowflake"
)

func inspectCommand(p program) *cobra.Command {
	var (
		store           storeFlags
		layout          layoutFlags
		t               target.Table
		source          string
		ordered, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "inspect [flags] FILE|-",
		Short: "Tell which generator made ids, and plan how to continue them",
		Long: `Inspect reads ids, one a line, from FILE or the input ("-"), or with --table from a table of
a database. It prints how many there are, which occur more than once, the layout that fits,
their times, how many each worker id has, and the configuration that continues them.

A layout fits if no id is more than an hour ahead of the clock, or of the first 30 days after
the epoch; with --epoch, those days count too. If several fit, inspect takes the one whose
newest id is closest to now, and lists the others: compare their times with a row that you
know. --source, --epoch, --unit and --bits choose. If the newest id is a day old, --source has to
confirm the layout: one that nobody named may have made it. Ids that are too small for any layout
count as numbers, such as those of AUTO_INCREMENT.

From a table, inspect reads the newest and the oldest --limit rows by key, in a transaction
that is read-only. An input may have any length: inspect keeps ` + fmt.Sprint(chunkLen) + ` ids in memory, about
200 MB in all, and compares only those with one another.

Inspect exits with 3 if no layout fits, or new ids cannot continue the old ones.`,
		Example: `  snowlease inspect --store sqlite:shop.db --table orders --column id
  cut -d, -f1 orders.csv | snowlease inspect --ordered -
  snowlease inspect --source bwmarrin --epoch 2020-01-01T00:00:00Z ids.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			now := time.Now()
			guesses, err := guessesOf(source, &layout, now)
			in := inspector{guesses: guesses, now: now, ordered: ordered, chosen: source != ""}
			switch {
			case err != nil:
				return err
			case t.Name == "" && len(args) == 0:
				return errors.New("give a FILE with ids, \"-\" for the input, or --table")
			case t.Name == "" && changed(cmd, "store config key column limit timeout"):
				return errors.New("--table is empty: give it for ids from a store, or leave out the flags of the store")
			case t.Name != "" && (len(args) > 0 || ordered):
				return errors.New("--table reads a table in the order of its keys: leave out FILE and --ordered")
			case t.Name == "":
				if err := in.file(args[0], cmd.InOrStdin()); err != nil {
					return failed(err)
				}
				return in.answer(cmd, asJSON, t)
			}
			if err := errors.Join(t.Validate(), store.complete(cmd, true)); err != nil {
				return err
			}
			return store.with(cmd, func(ctx context.Context, o *target.Opened) error {
				if o.Rows == nil {
					return fmt.Errorf("%s has no tables: name the database of --table with --store", o)
				}
				if err := o.Rows(ctx, t, in.add); err != nil {
					return err
				}
				in.now = time.Now() // rows were written meanwhile
				return in.answer(cmd, asJSON, t)
			})
		},
	}
	store.register(cmd, p)
	for _, name := range []string{"namespace", "prefix", "quarantine"} {
		if f := cmd.Flags().Lookup(name); f != nil {
			f.Hidden = true
		}
	}
	flags := cmd.Flags()
	flags.StringVar(&t.Name, "table", "", "table with the ids, as the database spells it: orders, or public.orders")
	flags.StringVar(&t.Column, "column", "id", "column with the ids, a number with an index")
	flags.IntVar(&t.Limit, "limit", 100_000, "how many of the newest and of the oldest rows of the table to read")
	flags.BoolVar(&ordered, "ordered", false, "the ids are in the order in which they were made: report those below an earlier one of their worker")
	flags.StringVar(&source, "source", "", "the generator: "+strings.Join(sourceNames(), ", ")+" (default: try all)")
	must(cmd.RegisterFlagCompletionFunc("source", cobra.FixedCompletions(sourceNames(), cobra.ShellCompDirectiveNoFileComp)))
	layout.registerParts(cmd, "the source's")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// file adds the ids of a file, or of stdin for "-".
func (in *inspector) file(name string, stdin io.Reader) error {
	if name != "-" {
		f, err := os.Open(name)
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			return fmt.Errorf("FILE cannot be read: %w", e.Err) // its name may be a DSN by mistake
		}
		defer f.Close()
		stdin = f
	}
	return each([]string{"-"}, stdin, func(text, kind string, place int) error {
		id, err := snowflake.ParseID(text, 10)
		if err == nil {
			err = in.add(int64(id))
		}
		if err != nil {
			return fmt.Errorf("%s %d: %w", kind, place, err)
		}
		return nil
	})
}

// maxShown is how many worker ids are shown, and how many ids of a kind.
const maxShown = 20

// An inspection is what inspect prints.
type inspection struct {
	IDs      int64          `json:"ids"`
	Least    snowflake.ID   `json:"least"`
	Greatest snowflake.ID   `json:"greatest"`
	Numbers  int64          `json:"numbers"` // of the ids, those that are too small for one
	Repeated int64          `json:"repeated"`
	Repeats  []snowflake.ID `json:"repeats"`
	Fits     []fit          `json:"fits"`
	Plan     *plan          `json:"plan"`
}

type fit struct {
	Source      string   `json:"source"`
	Layout      string   `json:"layout"`
	Oldest      string   `json:"oldest"`
	Newest      string   `json:"newest"`
	WorkerCount int      `json:"worker_count"`
	Workers     []worker `json:"workers"`        // with the most ids
	Late        *int64   `json:"late,omitempty"` // of ordered ids, those below an earlier one of their worker
}

type worker struct {
	Worker int64 `json:"worker"`
	IDs    int64 `json:"ids"`
}

type plan struct {
	Layout     string   `json:"layout"`
	Workers    string   `json:"workers"`
	NotBefore  string   `json:"not_before"`
	SideBySide bool     `json:"side_by_side"`
	Notes      []string `json:"notes"`
	YAML       string   `json:"yaml"`
}

// answer prints what was found in the ids, which came from t if it has a name.
func (in *inspector) answer(cmd *cobra.Command, asJSON bool, t target.Table) error {
	if in.ids == 0 {
		return failed(errors.New("there are no ids"))
	}
	in.compare()
	fits := in.fits()
	found := inspection{IDs: in.ids, Least: snowflake.ID(in.least), Greatest: snowflake.ID(in.greatest), Numbers: in.numbers, Repeated: in.repeated, Repeats: append([]snowflake.ID{}, in.repeats...), Fits: []fit{}}
	for _, g := range fits {
		found.Fits = append(found.Fits, g.fit(in.ordered))
	}
	var next migrate.Plan
	err := in.noFit()
	if len(fits) > 0 {
		namespace := "orders"
		if t.Name != "" && lease.CheckNamespace(t.Name) == nil {
			namespace = t.Name
		}
		if err = in.doubt(fits[0]); err == nil {
			next, err = migrate.Make(fits[0].Source, fits[0].greatest(), in.now)
		}
		if err == nil {
			found.Plan = &plan{next.Layout.String(), next.Workers, next.NotBefore.UTC().Format(stamp), next.SideBySide, next.Notes, next.YAML(namespace)}
		}
	}
	out := cmd.OutOrStdout()
	if asJSON {
		if printing := printJSON(out, found); printing != nil {
			return failed(printing)
		}
	} else if printing := in.print(out, found, fits, t); printing != nil {
		return failed(printing)
	}
	switch {
	case err != nil:
		return failure{exitNo, err}
	case asJSON:
		return nil
	}
	_, err = fmt.Fprintf(out, "\n%v\n%s", next, found.Plan.YAML)
	return failed(err)
}

// print prints for people what was found, without the plan.
func (in *inspector) print(out io.Writer, found inspection, fits []*guess, t target.Table) error {
	fmt.Fprintf(out, "ids: %d, from %d to %d\n", found.IDs, found.Least, found.Greatest)
	if t.Name != "" && found.IDs == 2*int64(t.Limit) {
		fmt.Fprintf(out, "sample: the newest and the oldest %d rows by %s\n", t.Limit, t.Column)
	}
	if found.Numbers > 0 {
		fmt.Fprintf(out, "numbers: %d, below %d, as AUTO_INCREMENT makes them\n", found.Numbers, in.smallest())
	}
	fmt.Fprintln(out, "repeated:", found.repeated(in.chunks > 1))
	switch {
	case len(fits) == 0:
		return in.nearest(out)
	case in.ordered && *found.Fits[0].Late > 0:
		fmt.Fprintf(out, "order: %d ids are below an earlier one of their worker, the first is %d\n", fits[0].late, fits[0].firstLate)
	case in.ordered:
		fmt.Fprintln(out, "order: the ids of each worker rise")
	}
	first := found.Fits[0]
	fmt.Fprintf(out, "layout: %s: %s\n", first.Source, first.Layout)
	fmt.Fprintf(out, "times: %s to %s\n\n", first.Oldest, first.Newest)
	rows := [][]string{{"WORKER", "IDS"}}
	for _, w := range first.Workers {
		rows = append(rows, []string{fmt.Sprint(w.Worker), fmt.Sprint(w.IDs)})
	}
	if err := printTable(out, rows); err != nil {
		return err
	}
	if more := first.WorkerCount - len(first.Workers); more > 0 {
		fmt.Fprintf(out, "... and %d more worker ids with fewer ids\n", more)
	}
	if len(found.Fits) > 1 {
		fmt.Fprintf(out, "\nOther layouts fit too. The right one has the time at which %d was made. If times are\nequal, it has the worker ids of your processes. Choose with --source.\n\n", fits[0].last)
		rows := [][]string{{"SOURCE", "NEWEST", "WORKER IDS"}}
		for _, f := range found.Fits {
			rows = append(rows, []string{f.Source, f.Newest, fmt.Sprint(f.WorkerCount)})
		}
		return printTable(out, rows)
	}
	return nil
}

func (f inspection) repeated(chunks bool) string {
	if f.Repeated == 0 && chunks {
		return fmt.Sprintf("none in any block of %d ids", chunkLen)
	}
	if f.Repeated == 0 {
		return "none"
	}
	var list []string
	for _, id := range f.Repeats {
		list = append(list, id.String())
	}
	return fmt.Sprintf("%d, such as %s", f.Repeated, strings.Join(list, ", "))
}

// nearest prints the layouts that most ids fit.
func (in *inspector) nearest(w io.Writer) error {
	rows := [][]string{{"LAYOUT", "IDS THAT DO NOT FIT", "SUCH AS"}}
	for _, g := range in.guesses {
		if len(rows) <= 3 && g.ids > 0 {
			rows = append(rows, []string{g.Name, fmt.Sprint(g.strays), fmt.Sprint(g.firstStray)})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return printTable(w, rows)
}
