package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/migrate"
	"github.com/snowlease/snowlease/snowflake"
)

func inspectCommand() *cobra.Command {
	var (
		layout          layoutFlags
		source          string
		ordered, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "inspect [flags] FILE|-",
		Short: "Tell which generator made ids, and plan how to continue them",
		Long: `Inspect reads ids, one a line, from FILE or the input ("-"). It prints how many there are,
which occur more than once, the layout that fits, their times, how many each worker id has,
and the configuration that continues them.

A layout fits if no id is more than an hour ahead of the clock, or of the first 30 days after
the epoch; with --epoch, those days count too. If several fit, inspect takes the one whose
newest id is closest to now, and lists the others: compare their times with a row that you
know. --source, --epoch, --unit and --bits choose. If the newest id is a day old, --source has to
confirm the layout: one that nobody named may have made it. Ids that are too small for any layout
count as numbers, such as those of AUTO_INCREMENT.

An input may have any length: inspect keeps ` + fmt.Sprint(chunkLen) + ` ids in memory, about 200 MB in all,
and compares only those with one another.

Inspect exits with 3 if no layout fits, or new ids cannot continue the old ones.`,
		Example: `  mysql -N -e 'SELECT id FROM orders' shop | snowlease inspect -
  psql -At -c 'SELECT id FROM orders' shop | snowlease inspect -
  snowlease inspect --ordered --source bwmarrin --epoch 2020-01-01T00:00:00Z ids.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("give a FILE with ids, or \"-\" for the input")
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			now := time.Now()
			guesses, err := guessesOf(source, &layout, now)
			if err != nil {
				return err
			}
			in := inspector{guesses: guesses, now: now, ordered: ordered, chosen: source != ""}
			if err := in.file(args[0], cmd.InOrStdin()); err != nil {
				return failed(err)
			}
			return in.answer(cmd, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&ordered, "ordered", false, "the ids are in the order in which they were made: report those below an earlier one of their worker")
	flags.StringVar(&source, "source", "", "the generator: "+strings.Join(sourceNames(), ", ")+" (default: try all)")
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

// answer prints what was found in the ids.
func (in *inspector) answer(cmd *cobra.Command, asJSON bool) error {
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
		if err = in.doubt(fits[0]); err == nil {
			next, err = migrate.Make(fits[0].Source, fits[0].greatest(), in.now)
		}
		if err == nil {
			found.Plan = &plan{next.Layout.String(), next.Workers, next.NotBefore.UTC().Format(stamp), next.SideBySide, next.Notes, next.YAML("orders")}
		}
	}
	out := cmd.OutOrStdout()
	if asJSON {
		if printing := printJSON(out, found); printing != nil {
			return failed(printing)
		}
	} else if printing := in.print(out, found, fits); printing != nil {
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
func (in *inspector) print(out io.Writer, found inspection, fits []*guess) error {
	fmt.Fprintf(out, "ids: %d, from %d to %d\n", found.IDs, found.Least, found.Greatest)
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
