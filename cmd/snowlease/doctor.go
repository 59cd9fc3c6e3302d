package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/lease"
)

func doctorCommand() *cobra.Command {
	var (
		store    storeFlags
		request  requestFlags
		replicas int64
		waits    int
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "doctor [--namespace NS] [flags]",
		Short: "Find what is wrong with a store, and say what to change",
		Long: `Doctor looks at a store as the application would use it: whether it can be reached and
written to, the account's rights, whether commits are durable, replication, eviction and
persistence, whether the server says which one it is and stays so, its clock; and, with a
namespace, at the pin, the layout and its years, the worker ids and the replicas they are
good for. It changes nothing.

A fault must be put right; a note is to be known. It exits with 3 where it found faults.`,
		Example: `  snowlease doctor --namespace orders --replicas 8
  snowlease doctor --config config.yaml --replicas 8 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if replicas < 0 || waits < 0 {
				return fmt.Errorf("--replicas %d or --wait-replicas %d is negative", replicas, waits)
			}
			if err := request.complete(cmd, &store); err != nil {
				return err
			}
			if err := store.complete(true); err != nil {
				return err
			}
			store.waits = max(waits, request.waitReplicas)
			d := &doctor{store: &store, request: &request, replicas: replicas}
			ctx, cancel := context.WithTimeout(cmd.Context(), store.timeout)
			defer cancel()
			d.examine(ctx)
			if err := d.print(cmd, asJSON); err != nil {
				return failed(err)
			}
			n := 0
			for _, f := range d.List {
				if f.Level == lease.LevelFault {
					n++
				}
			}
			if n > 0 {
				return failure{exitNo, fmt.Errorf("the doctor found faults: %d", n)}
			}
			return nil
		},
	}
	store.register(cmd)
	request.register(cmd)
	cmd.Flags().Int64Var(&replicas, "replicas", 0, "how many replicas of the service run at a time (default: not looked at)")
	cmd.Flags().IntVar(&waits, "wait-replicas", 0, "wait_replicas of the application's configuration")
	jsonFlag(cmd, &asJSON)
	return cmd
}

type doctor struct {
	store    *storeFlags
	request  *requestFlags
	replicas int64
	findings.List
}

func (d *doctor) compares() bool { return d.store.quarantine == idworker.QuarantineOnChange }

func (d *doctor) examine(ctx context.Context) {
	o, err := d.store.open(ctx)
	if err != nil {
		d.Fault("connect", err.Error(), "put right what the error names; nothing else could be looked at")
		return
	}
	defer func() {
		if err := o.close(); err != nil {
			d.Unknown("close", err)
		}
	}()
	d.OK("connect", o.String())
	found, err := o.Examine(ctx, d.name())
	d.List = append(d.List, found...)
	if err != nil {
		d.Unknown("store", err)
	}
	if d.replicas > 1 && o.db != nil && o.db.Name() == "sqlite" {
		d.Note("hosts", fmt.Sprintf("%d replicas on one file", d.replicas), "all of them must run on this host: SQLite does not lock across a network")
	}
	d.incarnation(ctx)
	d.namespace(ctx, o)
}

// name is a namespace to ask with.
func (d *doctor) name() string { return cmp.Or(d.store.namespace, "snowlease-doctor") }

// incarnation asks on several connections which server answers.
func (d *doctor) incarnation(ctx context.Context) {
	const check = "incarnation"
	if !d.compares() {
		d.OK(check, "not compared (quarantine: never)")
		return
	}
	ask := func() (string, error) {
		o, err := d.store.open(ctx)
		if err != nil {
			return "", err
		}
		id, err := o.Incarnation(ctx, d.name())
		return id, errors.Join(err, o.close())
	}
	seen := map[string]bool{}
	last := ""
	for range 4 {
		id, err := ask()
		if err != nil {
			if errors.Is(err, lease.ErrSetup) {
				d.Fault(check, err.Error(), "no worker id can be borrowed like this")
			} else {
				d.Unknown(check, err)
			}
			return
		}
		seen[id], last = true, id
	}
	if len(seen) == 1 {
		d.OK(check, last+", the same on 4 connections")
		return
	}
	d.Fault(check, fmt.Sprintf("%d of 4 connections in turn led to different servers, the last to %s", len(seen), last),
		"several servers answer at this address: let it lead to one of them, the primary or one node of the cluster")
}

// namespace looks at what is on record, and at the layout.
func (d *doctor) namespace(ctx context.Context, o *opened) {
	members := d.request.request
	if d.store.namespace != "" {
		rec, err := o.Record(ctx, d.store.namespace)
		switch {
		case errors.Is(err, lease.ErrUnknown):
			d.Note("namespace", "nothing is on record for "+d.store.namespace, "the first start makes the record; if there was one, see --prefix and --store")
		case err != nil:
			d.Fault("namespace", err.Error(), "put right what the error names")
		default:
			d.record(&members, rec)
			d.workers(ctx, o, rec)
		}
	}
	l, err := parseLayout(members.Layout)
	if err != nil {
		d.Fault("layout", err.Error(), "see whether another program has written the record")
		return
	}
	v := explain(l, time.Now())
	seen := fmt.Sprintf("%s: until %s, %.0f ids a second and worker", v.Fingerprint, v.Ends, v.PerSecond)
	switch {
	case v.Fault != "":
		d.Fault("layout", v.Fault, "choose another: see \"snowlease layout --years 30\"")
	case v.YearsLeft < 5:
		d.Note("layout", seen, "less than 5 years are left: plan the change to another layout")
	default:
		d.OK("layout", seen)
	}
	if d.replicas > 0 {
		good := idworker.Pool{Last: members.Pool - 1}.Replicas()
		seen := fmt.Sprintf("%d replicas, %d worker ids, good for %d", d.replicas, members.Pool, good)
		switch advice := "choose a layout with more worker bits, such as wide: \"snowlease layout --replicas\" designs one"; {
		case d.replicas > members.Pool:
			d.Fault("pool", seen, "there are fewer worker ids than replicas: "+advice)
		case d.replicas > good:
			d.Fault("pool", seen, "a rolling deploy or crashed replicas can use up the worker ids: "+advice)
		default:
			d.OK("pool", seen)
		}
	}
}

// record compares the pin with what the members are said to have, and takes it for
// theirs if nothing is said.
func (d *doctor) record(members *lease.Request, rec lease.Record) {
	pinned, err := lease.ParsePin(rec.Pin)
	switch {
	case lease.Retired(rec.Pin):
		d.Fault("namespace", "it is "+rec.Pin, "give processes that still come here the configuration of what has taken its place")
	case err != nil:
		d.Fault("namespace", err.Error(), "see whether another program has written the record")
	case d.request.given && rec.Pin != members.Pin():
		d.Fault("namespace", "it is pinned to "+rec.Pin+", the configuration says "+members.Pin(),
			"give all members the configuration that is pinned, or the others a namespace of their own")
	default:
		d.OK("namespace", rec.Pin)
	}
	if err == nil && !d.request.given {
		*members = pinned
	}
	if rec.Quarantined() {
		advice := "it ends by itself"
		if l, err := late(rec, nil); err != nil || l.quarantine {
			advice = "see the times"
		}
		d.Note("quarantine", rec.Reason+": "+ahead(rec), advice)
	}
}

func (d *doctor) workers(ctx context.Context, o *opened, rec lease.Record) {
	slots, err := o.Slots(ctx, d.store.namespace)
	if err != nil {
		d.Unknown("workers", err)
		return
	}
	if l, err := late(rec, slots); err == nil && !l.none() {
		d.Fault("times", l.String(), "the store's clock was ahead when they were written, or another program wrote them: see to that; wait if they pass soon, else \"snowlease mend\"")
	} else if err == nil {
		d.OK("times", "none is later than a member can write")
	}
	free := 0
	for _, s := range slots {
		if s.Free() {
			free++
		}
	}
	seen := fmt.Sprintf("%d of %d are free", free, len(slots))
	if free*4 < len(slots) {
		d.Note("workers", seen, "few are left: see \"snowlease workers\" for who has them")
	} else {
		d.OK("workers", seen)
	}
}

func (d *doctor) print(cmd *cobra.Command, asJSON bool) error {
	for _, f := range d.List {
		f.Seen = plain(f.Seen)
		text := fmt.Sprintf("%-5s  %-13s  %s\n", f.Level, f.Check, f.Seen)
		if f.Advice != "" {
			text += fmt.Sprintf("%22s-> %s\n", "", f.Advice)
		}
		if err := answer(cmd, asJSON, f, "%s", text); err != nil {
			return err
		}
	}
	return nil
}
