package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/snowflake"
)

func decodeCommand(p program) *cobra.Command {
	var (
		layout layoutFlags
		store  = storeFlags{program: p, timeout: 30 * time.Second}
		source string
		asJSON bool
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
			d := decoder{decode: l.Decode, json: asJSON}
			switch named := layout.app.file != "" || changed(cmd, layoutParts) != ""; {
			case store.namespace == "" && source == "":
				d.assumed = !named
			case named || store.namespace != "" && source != "":
				return errors.New("--namespace or --source sets the layout: leave out the other layout flags")
			case source != "":
				s, err := migrate.Named(source)
				if err != nil {
					return err
				}
				d.decode = s.Decode
			default:
				if l, err = store.layout(cmd); err != nil {
					return err
				}
				d.decode = l.Decode
			}
			if epoch := l.TickTime(0); epoch.After(time.Now()) {
				fmt.Fprintf(cmd.ErrOrStderr(), "Warning: the epoch %s is in the future. IDs that were made before it have wrapped around, and the times below are too late.\n", epoch.UTC().Format(time.RFC3339))
			}
			err = translate(p, cmd, args, d.line)
			if d.assumed && d.head {
				fmt.Fprintf(cmd.ErrOrStderr(), "In the default layout, %s; for another, give --namespace, --preset or --config.\n", l.WithDefaults())
			}
			return err
		},
	}
	layout.register(cmd)
	layout.app.register(cmd)
	store.registerPlace(cmd)
	cmd.Flags().StringVar(&source, "source", "", "the generator that made the IDs, with its default settings: "+migrate.Names())
	jsonFlag(cmd, &asJSON)
	return cmd
}

type decoder struct {
	decode  func(int64) (snowflake.Parts, error)
	json    bool
	assumed bool // no flag sets the layout
	head    bool // the heading is printed
}

// translate prints what one returns for each argument, and for each line of the standard input in
// place of "-". It reports those for which one fails, and continues.
func translate(p program, cmd *cobra.Command, args []string, one func(text string) (string, error)) error {
	n, bad := 0, 0
	err := each(args, cmd.InOrStdin(), func(text, kind string, place int) {
		n++
		line, err := one(text)
		if err != nil {
			bad++
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s %d: %v\n", p.Name, kind, place, err)
			return
		}
		fmt.Fprintln(cmd.OutOrStdout(), line)
	})
	if err == nil && bad > 0 {
		err = fmt.Errorf("%d of %d could not be translated", bad, n)
	}
	return failed(err)
}

// each calls one for each argument, and for each line of stdin in place of "-".
func each(args []string, stdin io.Reader, one func(text, kind string, place int)) error {
	for i, arg := range args {
		if arg != "-" {
			one(arg, "argument", i+1)
			continue
		}
		lines, n := bufio.NewScanner(stdin), 0
		for lines.Scan() {
			n++
			if text := strings.TrimSpace(lines.Text()); text != "" {
				one(text, "line", n)
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("read line %d: %w", n+1, err)
		}
	}
	return nil
}

// line decodes an id, with the heading before the first one.
func (d *decoder) line(text string) (string, error) {
	id, err := snowflake.ParseID(text)
	if err != nil {
		return "", err
	}
	p, err := d.decode(int64(id))
	if err != nil {
		return "", err
	}
	if d.assumed && (p.Time.Year() < 2025 || p.Time.After(time.Now().Add(24*time.Hour))) {
		return "", fmt.Errorf("id %d would be of %s in the default layout: which layout made it? Give --namespace, --config, --preset, --source, or --epoch and --bits", id, p.Time.Format(time.DateOnly))
	}
	if d.json {
		b, err := json.Marshal(struct {
			ID       snowflake.ID `json:"id"`
			Time     string       `json:"time"`
			Worker   int64        `json:"worker"`
			Business int64        `json:"business"`
			Sequence int64        `json:"sequence"`
		}{id, p.Time.Format(stamp), p.Worker, p.Business, p.Sequence})
		return string(b), err
	}
	line := fmt.Sprintf("%-19s  %-24s  %7d  %8d  %10d", id, p.Time.Format(stamp), p.Worker, p.Business, p.Sequence)
	if !d.head {
		d.head = true
		line = fmt.Sprintf("%-19s  %-24s  %7s  %8s  %10s\n%s", "ID", "TIME", "WORKER", "BUSINESS", "SEQUENCE", line)
	}
	return line, nil
}
