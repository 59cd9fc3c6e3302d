package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/snowflake"
)

func inspectCommand() *cobra.Command {
	var (
		f      sourceFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "inspect [flags] FILE|-",
		Short: "Plan how to continue the ids of another generator",
		Long: `Inspect reads ids, one a line, from FILE or standard input ("-"), and plans how to continue
them.

Describe the generator with --source, or with --epoch and --bits, and give the --workers in
use. The workers may be left out if the source chooses them itself or stores the sequence
above them, or without --source: the plan then stops the old processes first. Inspect
checks the description against the ids: the newest must be at most ten minutes old, and
worker ids, sequences and digits must be possible. It counts lines that are not ids, and
ids that the generator cannot have made, as odd.

Without a description, inspect lists as candidates the sources that fit the ids.

Inspect exits with 3 if there is no plan.`,
		Example: `  mysql -N -e 'SELECT id FROM orders' shop | snowlease inspect -
  psql -At -c 'SELECT id FROM orders' shop | snowlease inspect --source bwmarrin --workers 1-3,7 -
  snowlease inspect --epoch 2020-01-01T00:00:00Z --bits 41/10/0/12 ids.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("give a FILE with ids, or \"-\" for standard input")
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := f.read()
			if err != nil {
				return err
			}
			ids, found, err := readIDs(args[0], cmd.InOrStdin())
			if err != nil {
				return failed(err)
			}
			no := found.plan(source, ids)
			if err := found.print(cmd.OutOrStdout(), asJSON); err != nil {
				return failed(err)
			}
			if no != nil {
				return failure{exitNo, no}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "source", "", "the generator: "+strings.Join(sourceNames(), ", "))
	flags.StringVar(&f.workers, "workers", "", "the worker ids in use, such as 1-3,7, or \"any\" if they are not known")
	flags.BoolVar(&f.sequenceFirst, "sequence-first", false, "the sequence is above the worker id")
	f.layout.registerParts(cmd, "the source's")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// sourceFlags describe a generator.
type sourceFlags struct {
	name, workers string
	sequenceFirst bool
	layout        layoutFlags
}

// read returns the source that the flags describe. Its name is empty without such flags.
func (f *sourceFlags) read() (s migrate.Source, err error) {
	parts := f.layout.epoch != "" || f.layout.bits != "" || f.layout.unit != 0
	switch i := slices.Index(sourceNames(), f.name); {
	case i >= 0:
		s = everySource()[i]
	case f.name != "":
		return s, unknownSource()
	case parts:
		s.Name = "the stated layout"
	}
	if s.Layout, err = f.layout.over(s.Layout); err != nil || s.Name == "" && f.workers == "" {
		return s, err
	}
	s.SequenceFirst = s.SequenceFirst || f.sequenceFirst
	switch {
	case f.name == "" && (f.layout.epoch == "" || f.layout.bits == ""):
		return s, errors.New("give --source, or both --epoch and --bits")
	case f.workers == "" && f.name != "" && !s.Chooses && !s.SequenceFirst:
		return s, errors.New("give the --workers in use, or \"any\" if they are not known")
	case f.workers != "" && f.workers != "any":
		if s.Workers, err = parseWorkers(f.workers, s.Layout.Workers()); err != nil {
			err = fmt.Errorf("--workers is not \"any\", and %w", err)
		}
	}
	return s, err
}

// parseWorkers parses ranges of numbers below n.
func parseWorkers(s string, n int64) (list []int64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseInt(from, 10, 64)
		last, err2 := strconv.ParseInt(to, 10, 64)
		if err1 != nil || err2 != nil || first < 0 || last < first || last >= n {
			return nil, fmt.Errorf("%s is not worker ids of 0-%d, such as 1-3,7", printable.Quote(s), n-1)
		}
		for ; first <= last; first++ {
			list = append(list, first)
		}
	}
	return list, nil
}

// everySource returns the sources of package migrate, and the presets that are not among them.
func everySource() []migrate.Source {
	return append(migrate.Sources(), migrate.Source{Name: "default"},
		migrate.Source{Name: "wide", Layout: snowflake.Wide()}, migrate.Source{Name: "jssafe", Layout: snowflake.JSSafe()})
}

func sourceNames() (names []string) {
	for _, s := range everySource() {
		names = append(names, s.Name)
	}
	return names
}

func unknownSource() error {
	return fmt.Errorf("--source is unknown: choose %s", strings.Join(sourceNames(), ", "))
}

// An inspection is the output of inspect.
type inspection struct {
	IDs        int      `json:"ids"`
	Odd        int      `json:"odd"`
	OddOnes    []string `json:"odd_ones"` // the first 20
	Candidates []string `json:"candidates"`
	Plan       *plan    `json:"plan"`
}

type plan struct {
	Layout     string `json:"layout"`
	Workers    string `json:"workers"`
	NotBefore  string `json:"not_before"`
	SideBySide bool   `json:"side_by_side"`
	Note       string `json:"note"`
	YAML       string `json:"yaml"`
	text       string
}

// readIDs returns the ids of a file, or of stdin if name is "-". It counts other lines as odd.
func readIDs(name string, stdin io.Reader) (ids []int64, found inspection, err error) {
	found = inspection{OddOnes: []string{}, Candidates: []string{}}
	if name != "-" {
		f, err := os.Open(name)
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			return nil, found, fmt.Errorf("FILE cannot be read: %w", e.Err) // the name may be a DSN by mistake
		}
		defer f.Close()
		stdin = f
	}
	err = each([]string{"-"}, stdin, func(text, _ string, _ int) error {
		text = strings.Trim(text, "\ufeff\"'`,; \t")
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			ids = append(ids, id)
		} else if text != "" {
			found.odd(printable.Quote(text))
		}
		return nil
	})
	if err == nil && len(ids) == 0 {
		err = errors.New("there are no ids")
	}
	found.IDs = len(ids)
	return ids, found, err
}

// plan plans how to continue the ids of a source. If the source has no name, it finds
// candidates.
func (f *inspection) plan(source migrate.Source, ids []int64) error {
	if source.Name == "" {
		for _, s := range everySource() {
			if _, no := migrate.Make(s, ids, time.Now()); no == nil {
				f.Candidates = append(f.Candidates, s.Name)
			}
		}
		return errors.New("no plan: ids alone do not identify their generator; give --source, or --epoch and --bits, and the --workers in use")
	}
	next, err := migrate.Make(source, ids, time.Now())
	if err == nil {
		f.Plan = &plan{next.Layout.String(), next.Workers, next.NotBefore.UTC().Format(stamp), next.SideBySide, next.Note, next.YAML("orders"), next.String()}
	}
	for _, id := range next.Odd {
		f.odd(fmt.Sprint(id))
	}
	return err
}

func (f *inspection) odd(text string) {
	if f.Odd++; f.Odd <= 20 {
		f.OddOnes = append(f.OddOnes, text)
	}
}

func (f *inspection) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(out, f)
	}
	fmt.Fprintln(out, "ids:", f.IDs)
	if f.Odd > 0 {
		fmt.Fprintf(out, "odd: %d, such as %s\n", f.Odd, strings.Join(f.OddOnes, ", "))
	}
	for _, name := range f.Candidates {
		fmt.Fprintln(out, "candidate:", name)
	}
	if f.Plan != nil {
		_, err := fmt.Fprintf(out, "\n%s\n%s", f.Plan.text, f.Plan.YAML)
		return err
	}
	return nil
}
