package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/internal/printable"
)

func inspectCommand() *cobra.Command {
	var f sourceFlags
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

Inspect exits with 3 if there is no plan.`,
		Example: `  mysql -N -e 'SELECT id FROM orders' shop | snowlease inspect --source hutool -
  psql -At -c 'SELECT id FROM orders' shop | snowlease inspect --source bwmarrin --workers 1-3,7 -
  snowlease inspect --epoch 2020-01-01T00:00:00Z --bits 41/10/0/12 ids.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := f.read()
			if err != nil {
				return err
			}
			ids, odd, err := readIDs(cmd, args[0])
			if err != nil {
				return failed(err)
			}
			plan, no := migrate.Make(source, ids, time.Now())
			for _, id := range plan.Odd {
				odd = append(odd, strconv.FormatInt(id, 10))
			}
			out := cmd.OutOrStdout()
			fmt.Fprintln(out, "ids:", len(ids))
			if n := len(odd); n > 0 {
				fmt.Fprintf(out, "odd: %d, such as %s\n", n, strings.Join(odd[:min(n, 20)], ", "))
			}
			if no != nil {
				return failure{exitNo, no}
			}
			fmt.Fprintf(out, "\n%s\n%s", plan, plan.YAML("orders"))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "source", "", "the generator: "+migrate.Names())
	flags.StringVar(&f.workers, "workers", "", "the worker ids in use, such as 1-3,7, or \"any\" if they are not known")
	flags.BoolVar(&f.sequenceFirst, "sequence-first", false, "the sequence is above the worker id")
	f.layout.registerParts(cmd, "the source's")
	return cmd
}

// sourceFlags describe a generator.
type sourceFlags struct {
	name, workers string
	sequenceFirst bool
	layout        layoutFlags
}

// read returns the source that the flags describe.
func (f *sourceFlags) read() (s migrate.Source, err error) {
	s.Name = "the stated layout"
	if f.name != "" {
		if s, err = migrate.Named(f.name); err != nil {
			return s, err
		}
	}
	if s.Layout, err = f.layout.over(s.Layout); err != nil {
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

// readIDs returns the ids of an input, and the other lines.
func readIDs(cmd *cobra.Command, name string) (ids []int64, odd []string, err error) {
	lines, err := input(cmd, name)
	if err != nil {
		return nil, nil, fmt.Errorf("FILE cannot be read: %w", unnamed(err))
	}
	err = each([]string{"-"}, bytes.NewReader(lines), func(text, _ string, _ int) {
		text = strings.Trim(text, "\ufeff\"'`,; \t")
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			ids = append(ids, id)
		} else if text != "" {
			odd = append(odd, printable.Quote(text))
		}
	})
	if err == nil && len(ids) == 0 {
		err = errors.New("there are no ids")
	}
	return ids, odd, err
}
