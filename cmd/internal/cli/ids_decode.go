package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/snowflake"
)

func decodeCommand(p program) *cobra.Command {
	var (
		layout layoutFlags
		store  = storeFlags{program: p, timeout: 30 * time.Second}
		source string
		d      decoder
	)
	cmd := &cobra.Command{
		Use:   "decode [flags] ID...|-",
		Short: "Print the time, worker and sequence of ids",
		Long: `Decode prints each ID with its time, worker id, business number and sequence. With
--namespace, it reads the layout from the store. Without any layout flag, it uses the default
layout and prints a line that reports this; an ID whose time is then in the future, or before
the first release of snowlease, has another layout.

"-" reads IDs from standard input, one a line. Decode reports an ID that cannot be decoded
with its line or argument number, continues with the others and exits with 1.`,
		Example: `  snowlease decode 175928847299117063 --preset discord
  snowlease decode 912050440815641783 --config config.yaml
  snowlease decode 912050440815641783 --namespace orders
  snowlease decode 1369734562062337 --epoch 2019-05-05T00:00:00+08:00 --bits 41/5/5/12
  snowlease decode 517142922617954309 --source pgedge
  cut -d, -f1 orders.csv | snowlease decode --json -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := layout.read(cmd)
			if err != nil {
				return err
			}
			named := layout.app.file != "" || changed(cmd, layoutParts)
			if store.namespace != "" {
				if named || source != "" {
					return errors.New("--namespace sets the layout: leave out the other layout flags")
				}
				if l, err = store.layout(cmd); err != nil {
					return err
				}
				named = true
			}
			if epoch := l.TickTime(0); epoch.After(time.Now()) {
				fmt.Fprintf(cmd.ErrOrStderr(), "Warning: the epoch %s is in the future. IDs that were made before it have wrapped around, and the times below are too late.\n", epoch.UTC().Format(time.RFC3339))
			}
			d.decode, d.layout, d.assumed = l.Decode, l, !named && source == ""
			if source != "" {
				i := slices.Index(sourceNames(), source)
				switch {
				case i < 0:
					return unknownSource()
				case named:
					return errors.New("--source sets the layout: leave out the other layout flags")
				}
				d.decode = everySource()[i].Decode
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			d.name, d.out, d.faults = p.Name, out, cmd.ErrOrStderr()
			return failed(errors.Join(d.all(args, cmd.InOrStdin()), out.Flush()))
		},
	}
	layout.register(cmd)
	layout.app.register(cmd)
	store.registerPlace(cmd)
	cmd.Flags().StringVar(&source, "source", "", "the generator that made the IDs, with its default settings: "+strings.Join(sourceNames(), ", "))
	jsonFlag(cmd, &d.json)
	return cmd
}

type decoder struct {
	layout      snowflake.Layout
	decode      func(int64) (snowflake.Parts, error)
	name        string // the program's name
	json        bool
	assumed     bool // no flag sets the layout
	out, faults io.Writer
	good, bad   int
}

// all decodes the arguments, and the lines of stdin in place of each "-".
func (d *decoder) all(args []string, stdin io.Reader) error {
	if err := each(args, stdin, d.one); err != nil {
		return err
	}
	if d.assumed && d.good > 0 && !d.json {
		if _, err := fmt.Fprintf(d.out, "In the default layout, %s; for another, give --namespace, --preset or --config.\n", d.layout.WithDefaults()); err != nil {
			return err
		}
	}
	if d.bad > 0 {
		return fmt.Errorf("%d of %d ids could not be decoded", d.bad, d.bad+d.good)
	}
	return nil
}

// each calls one for each argument, and for each line of stdin in place of "-".
func each(args []string, stdin io.Reader, one func(text, kind string, place int) error) error {
	for i, arg := range args {
		if arg != "-" {
			if err := one(arg, "argument", i+1); err != nil {
				return err
			}
			continue
		}
		lines, n := bufio.NewScanner(stdin), 0
		for lines.Scan() {
			n++
			if text := strings.TrimSpace(lines.Text()); text != "" {
				if err := one(text, "line", n); err != nil {
					return err
				}
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("read line %d: %w", n+1, err)
		}
	}
	return nil
}

const (
	header = "%-19s  %-24s  %7s  %8s  %10s\n"
	row    = "%-19s  %-24s  %7d  %8d  %10d\n"
)

// one prints a decoded id, or the reason why it cannot be decoded. It returns only write
// errors.
func (d *decoder) one(text, kind string, place int) error {
	id, err := snowflake.ParseID(text)
	var p snowflake.Parts
	if err == nil {
		p, err = d.decode(int64(id))
	}
	if err == nil && d.assumed && (p.Time.Year() < 2025 || p.Time.After(time.Now().Add(24*time.Hour))) {
		err = fmt.Errorf("id %d would be of %s in the default layout: which layout made it? Give --namespace, --config, --preset, --source, or --epoch and --bits", id, p.Time.Format(time.DateOnly))
	}
	if err != nil {
		d.bad++
		_, err = fmt.Fprintf(d.faults, "%s: %s %d: %v\n", d.name, kind, place, err)
		return err
	}
	d.good++
	if d.json {
		return json.NewEncoder(d.out).Encode(struct {
			ID       snowflake.ID `json:"id"`
			Time     string       `json:"time"`
			Worker   int64        `json:"worker"`
			Business int64        `json:"business"`
			Sequence int64        `json:"sequence"`
		}{id, p.Time.Format(stamp), p.Worker, p.Business, p.Sequence})
	}
	if d.good == 1 {
		if _, err := fmt.Fprintf(d.out, header, "ID", "TIME", "WORKER", "BUSINESS", "SEQUENCE"); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(d.out, row, id, p.Time.Format(stamp), p.Worker, p.Business, p.Sequence)
	return err
}
