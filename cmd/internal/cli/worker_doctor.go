package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

func doctorCommand(p program) *cobra.Command {
	var (
		store    storeFlags
		request  requestFlags
		replicas uint32
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "doctor [--namespace NS] [flags]",
		Short: "Check a store, and say what to change",
		Long: `Doctor checks a store the way the application would use it: ` + p.Examines + `.
With a namespace, it also checks the pin, the layout and its end, the worker ids, and the
number of replicas that they are sufficient for. It changes nothing. It cannot check the
settings of poolers and proxies. Run it on a host other than the store's: otherwise the
clock check compares a clock with itself.

A fault must be fixed; a note is worth knowing. Doctor exits with 3 if it finds faults.`,
		Example: `  snowlease doctor --namespace orders --replicas 8
  snowlease doctor --config config.yaml --replicas 8 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(cmd, true); err != nil {
				return err
			}
			if err := request.complete(cmd, &store); err != nil {
				return err
			}
			d := &doctor{store: &store, request: &request, replicas: int64(replicas)}
			ctx, cancel := store.within(cmd)
			defer cancel()
			d.examine(ctx)
			if n := d.print(cmd.OutOrStdout(), asJSON); n > 0 {
				return failure{exitNo, fmt.Errorf("the doctor found faults: %d", n)}
			}
			return nil
		},
	}
	store.register(cmd, p)
	request.register(cmd)
	cmd.Flags().Uint32Var(&replicas, "replicas", 0, "how many replicas of the service run at a time (default: not checked)")
	if p.Numbers {
		cmd.Flags().UintVar(&store.waits, "wait-replicas", 0, "wait_replicas of the application's configuration")
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

type doctor struct {
	store    *storeFlags
	request  *requestFlags
	replicas int64
	findings.List
}

func (d *doctor) examine(ctx context.Context) {
	o, err := d.store.open(ctx, false)
	if err != nil {
		d.Fault("connect", err.Error(), "nothing else could be checked")
		return
	}
	defer func() { _ = o.Close() }()
	d.OK("connect", o.String())
	if file := d.store.app.file; file != "" {
		d.OK("config", file)
	}
	if examine := o.Extras().Examine; examine != nil {
		found, err := examine(ctx, d.name())
		d.List = append(d.List, found...)
		if err != nil {
			d.Unknown("store", err)
		}
	}
	d.incarnation(ctx)
	d.namespace(ctx, o)
}

// name returns the namespace, or a placeholder without one.
func (d *doctor) name() string { return cmp.Or(d.store.namespace, "snowlease-doctor") }

// incarnation checks that several connections reach the same server.
func (d *doctor) incarnation(ctx context.Context) {
	const check = "incarnation"
	if d.store.durable {
		d.OK(check, "not compared (durable: true)")
		return
	}
	seen := map[string]bool{}
	last := ""
	for range 4 {
		// Behind a proxy that alternates between two servers, every second connection reaches the same one.
		o, err := d.store.open(ctx, true)
		if err == nil {
			last, err = o.Incarnation(ctx, d.name())
			err = errors.Join(err, o.Close())
		}
		if err != nil {
			told := slices.ContainsFunc(d.List, func(f lease.Finding) bool { return f.Level == lease.LevelFault && f.Check == "rights" })
			if errors.Is(err, lease.ErrSetup) && !told {
				d.Fault(check, err.Error(), "no worker id can be borrowed until this is fixed")
			} else {
				d.Unknown(check, err)
			}
			return
		}
		seen[last] = true
	}
	if len(seen) == 1 {
		d.OK(check, last+", the same on 4 connections")
		return
	}
	d.Fault(check, fmt.Sprintf("4 connections reached %d different servers, the last %s", len(seen), last),
		"several servers answer at this address: use an address of only one of them, the primary or one node of the cluster")
}

// print prints the findings, and returns how many are faults.
func (d *doctor) print(w io.Writer, asJSON bool) (faults int) {
	for _, f := range d.List {
		if f.Level == lease.LevelFault {
			faults++
		}
		f.Seen = printable.Text(f.Seen)
		if asJSON {
			_ = json.NewEncoder(w).Encode(f) // Run returns errors of w
			continue
		}
		fmt.Fprintf(w, "%-5s  %-13s  %s\n", f.Level, f.Check, f.Seen)
		if f.Advice != "" {
			fmt.Fprintf(w, "%22s-> %s\n", "", f.Advice)
		}
	}
	return faults
}
