package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/idworker"
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
			d := &doctor{store: &store, request: &request, replicas: replicas, waits: max(waits, request.waitReplicas)}
			ctx, cancel := context.WithTimeout(cmd.Context(), store.timeout)
			defer cancel()
			d.examine(ctx)
			if err := d.print(cmd.OutOrStdout(), asJSON); err != nil {
				return failed(err)
			}
			n := 0
			for _, f := range d.findings {
				if f.Level == levelFault {
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

// Levels of findings.
const (
	levelOK    = "ok"
	levelNote  = "note"
	levelFault = "fault"
)

// A finding is what one check saw, and what to do about it.
type finding struct {
	Level  string `json:"level"`
	Check  string `json:"check"`
	Seen   string `json:"seen"`
	Advice string `json:"advice,omitempty"`
}

type doctor struct {
	store    *storeFlags
	request  *requestFlags
	replicas int64
	waits    int
	findings []finding
}

func (d *doctor) ok(check, seen string) {
	d.findings = append(d.findings, finding{levelOK, check, plain(seen), ""})
}

func (d *doctor) note(check, seen, advice string) {
	d.findings = append(d.findings, finding{levelNote, check, plain(seen), advice})
}

func (d *doctor) fault(check, seen, advice string) {
	d.findings = append(d.findings, finding{levelFault, check, plain(seen), advice})
}

// unknown is a check that could not be made.
func (d *doctor) unknown(check string, err error) {
	d.note(check, "could not be looked at: "+err.Error(), "")
}

// judge is a fault if bad, else in order.
func (d *doctor) judge(bad bool, check, seen, advice string) {
	if bad {
		d.fault(check, seen, advice)
	} else {
		d.ok(check, seen)
	}
}

func (d *doctor) compares() bool { return d.store.quarantine == idworker.QuarantineOnChange }

func (d *doctor) examine(ctx context.Context) {
	o, err := d.store.open(ctx)
	if err != nil {
		d.fault("connect", err.Error(), "put right what the error names; nothing else could be looked at")
		return
	}
	defer func() {
		if err := o.close(); err != nil {
			d.unknown("close", err)
		}
	}()
	d.ok("connect", o.String())
	if o.redis != nil {
		d.redis(ctx, o)
	} else {
		d.sql(ctx, o)
	}
	d.incarnation(ctx)
	d.namespace(ctx, o)
}

// name is a namespace to ask with.
func (d *doctor) name() string {
	if d.store.namespace == "" {
		return "snowlease-doctor"
	}
	return d.store.namespace
}

// incarnation asks on several connections which server answers.
func (d *doctor) incarnation(ctx context.Context) {
	const check = "incarnation"
	if !d.compares() {
		d.ok(check, "not compared (quarantine: never)")
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
				d.fault(check, err.Error(), "no worker id can be borrowed like this")
			} else {
				d.unknown(check, err)
			}
			return
		}
		seen[id], last = true, id
	}
	d.judge(len(seen) > 1, check, fmt.Sprintf("%d of 4 connections in turn led to different servers, the last to %s", len(seen), last),
		"several servers answer at this address: let it lead to one of them, the primary or one node of the cluster")
	if len(seen) == 1 {
		d.findings[len(d.findings)-1].Seen = last + ", the same on 4 connections"
	}
}

// clock compares the clock of the store, which was now between two times here.
func (d *doctor) clock(now, before, after time.Time) {
	middle := before.Add(after.Sub(before) / 2)
	off := now.Sub(middle).Round(time.Millisecond)
	seen := fmt.Sprintf("%v off this host's, give or take %v", off, (after.Sub(before) / 2).Round(time.Millisecond))
	advice := "set the wrong one right and keep it so (NTP)"
	if r := off.Round(30 * time.Minute); r != 0 && (off-r).Abs() < time.Minute {
		advice = "it looks as if one of the clocks held local time: set its UTC time right"
	}
	switch {
	case off.Abs() > lease.MaxClockError:
		d.fault("clock", seen, fmt.Sprintf("more than %v: no worker id is lent; %s", lease.MaxClockError, advice))
	case off.Abs() > time.Second:
		d.note("clock", seen, "ids carry the store's time; "+advice)
	default:
		d.ok("clock", seen)
	}
}

// namespace looks at what is on record, and at the layout.
func (d *doctor) namespace(ctx context.Context, o *opened) {
	members := d.request.request
	if d.store.namespace != "" {
		rec, err := o.Record(ctx, d.store.namespace)
		switch {
		case errors.Is(err, lease.ErrUnknown):
			d.note("namespace", "nothing is on record for "+d.store.namespace, "the first start makes the record; if there was one, see --prefix and --store")
		case err != nil:
			d.fault("namespace", err.Error(), "put right what the error names")
		default:
			d.record(&members, rec)
			d.workers(ctx, o, rec)
		}
	}
	l, err := parseLayout(members.Layout)
	if err != nil {
		d.fault("layout", err.Error(), "see whether another program has written the record")
		return
	}
	v := explain(l, time.Now())
	seen := fmt.Sprintf("%s: until %s, %.0f ids a second and worker", v.Fingerprint, v.Ends, v.PerSecond)
	switch {
	case v.Fault != "":
		d.fault("layout", v.Fault, "choose another: see \"snowlease layout --years 30\"")
	case v.YearsLeft < 5:
		d.note("layout", seen, "less than 5 years are left: plan the change to another layout")
	default:
		d.ok("layout", seen)
	}
	if d.replicas > 0 {
		good := idworker.Pool{Last: members.Pool - 1}.Replicas()
		seen := fmt.Sprintf("%d replicas, %d worker ids, good for %d", d.replicas, members.Pool, good)
		switch advice := "choose a layout with more worker bits, such as wide: \"snowlease layout --replicas\" designs one"; {
		case d.replicas > members.Pool:
			d.fault("pool", seen, "there are fewer worker ids than replicas: "+advice)
		case d.replicas > good:
			d.fault("pool", seen, "a rolling deploy or crashed replicas can use up the worker ids: "+advice)
		default:
			d.ok("pool", seen)
		}
	}
}

// record compares the pin with what the members are said to have, and takes it for
// theirs if nothing is said.
func (d *doctor) record(members *lease.Request, rec lease.Record) {
	pinned, err := lease.ParsePin(rec.Pin)
	switch {
	case lease.Retired(rec.Pin):
		d.fault("namespace", "it is "+rec.Pin, "give processes that still come here the configuration of what has taken its place")
	case err != nil:
		d.fault("namespace", err.Error(), "see whether another program has written the record")
	case d.request.given && rec.Pin != members.Pin():
		d.fault("namespace", "it is pinned to "+rec.Pin+", the configuration says "+members.Pin(),
			"give all members the configuration that is pinned, or the others a namespace of their own")
	default:
		d.ok("namespace", rec.Pin)
	}
	if err == nil && !d.request.given {
		*members = pinned
	}
	if rec.Quarantined() {
		advice := "it ends by itself"
		if l, err := late(rec, nil); err != nil || l.quarantine {
			advice = "see the times"
		}
		d.note("quarantine", rec.Reason+": "+ahead(rec), advice)
	}
}

func (d *doctor) workers(ctx context.Context, o *opened, rec lease.Record) {
	slots, err := o.Slots(ctx, d.store.namespace)
	if err != nil {
		d.unknown("workers", err)
		return
	}
	if l, err := late(rec, slots); err == nil && !l.none() {
		d.fault("times", l.String(), "the store's clock was ahead when they were written, or another program wrote them: see to that; wait if they pass soon, else \"snowlease mend\"")
	} else if err == nil {
		d.ok("times", "none is later than a member can write")
	}
	free := 0
	for _, s := range slots {
		if s.Free() {
			free++
		}
	}
	seen := fmt.Sprintf("%d of %d are free", free, len(slots))
	if free*4 < len(slots) {
		d.note("workers", seen, "few are left: see \"snowlease workers\" for who has them")
		return
	}
	d.ok("workers", seen)
}

func (d *doctor) print(w io.Writer, asJSON bool) error {
	if asJSON {
		for _, f := range d.findings {
			if err := printJSON(w, f); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range d.findings {
		text := fmt.Sprintf("%-5s  %-13s  %s\n", f.Level, f.Check, f.Seen)
		if f.Advice != "" {
			text += fmt.Sprintf("%22s-> %s\n", "", f.Advice)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}
