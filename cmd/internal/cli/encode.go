package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/snowflake"
)

func encodeCommand() *cobra.Command {
	var (
		layout layoutFlags
		parts  snowflake.Parts
		when   string
		base   int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "encode [flags] [-]",
		Short: "Build ids from their parts",
		Long: `Encode builds an id from its parts, for tests and for the bounds of a time range in a
query. "-" reads the parts as JSON objects, as "snowlease decode --json" prints them.

Do not use it to issue ids: a process may issue the same id.`,
		Example: `  snowlease encode --time 2026-01-01T00:00:00Z          # WHERE id >= this: since then
  snowlease decode --json - <ids.txt | snowlease encode --base 58 -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := layout.read(cmd)
			if err != nil {
				return err
			}
			if _, err := snowflake.ID(0).Format(base); err != nil {
				return fmt.Errorf("--base: %w", err)
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			one := func(p snowflake.Parts) error {
				id, err := l.Encode(p)
				if err != nil {
					return err
				}
				text, _ := snowflake.ID(id).Format(base)
				if asJSON {
					return printJSON(out, map[string]string{"id": snowflake.ID(id).String(), "text": text})
				}
				_, err = fmt.Fprintln(out, text)
				return err
			}
			if len(args) == 1 {
				if args[0] != "-" {
					return fmt.Errorf("argument %q is not \"-\": give the parts as flags", args[0])
				}
				return failed(errors.Join(encodeAll(cmd.InOrStdin(), one), out.Flush()))
			}
			parts.Time = time.Now()
			if when != "" {
				if parts.Time, err = parseTime(when); err != nil {
					return fmt.Errorf("--time %w", err)
				}
			}
			return failed(errors.Join(one(parts), out.Flush()))
		},
	}
	layout.register(cmd)
	layout.app.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&when, "time", "", "the time, RFC 3339 or Unix milliseconds (default: now)")
	flags.Int64Var(&parts.Worker, "worker", 0, "the worker id")
	flags.Int64Var(&parts.Business, "business", 0, "the business number")
	flags.Int64Var(&parts.Sequence, "sequence", 0, "the number within the tick")
	flags.IntVar(&base, "base", 10, "base of the ids: 10, 36, 58 or 62")
	completeBase(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// encodeAll reads JSON objects and stops at the first error.
func encodeAll(in io.Reader, one func(snowflake.Parts) error) error {
	objects := json.NewDecoder(in)
	for n := 1; ; n++ {
		var p struct {
			Time                       time.Time
			Worker, Business, Sequence int64
		}
		err := objects.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = one(snowflake.Parts{Time: p.Time, Worker: p.Worker, Business: p.Business, Sequence: p.Sequence})
		}
		if err != nil {
			return fmt.Errorf("object %d: %w", n, err)
		}
	}
}
