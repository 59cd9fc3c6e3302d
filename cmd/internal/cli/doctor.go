package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/internal/settings"
	"github.com/snowlease/snowlease/lease"
)

func doctorCommand(p program) *cobra.Command {
	var (
		store    storeFlags
		request  requestFlags
		replicas int64
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "doctor [--namespace NS] [flags]",
		Short: "Check a store, and say what to change",
		Long: `Doctor checks a store the way the application would use it: ` + p.Examines + `.
With a namespace, it also checks the pin, the layout and how long it lasts, the worker ids,
and how many replicas they are sufficient for. It changes nothing, and does not see the
settings of poolers and proxies. Run it on another host than the store's, or the check of
the clock compares a clock with itself.

A fault must be fixed; a note is worth knowing. It exits with 3 if it finds faults.`,
		Example: `  snowlease doctor --namespace orders --replicas 8
  snowlease doctor --config config.yaml --replicas 8 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if replicas < 0 || store.waits < 0 {
				return fmt.Errorf("--replicas %d or --wait-replicas %d is negative", replicas, store.waits)
			}
			if err := store.complete(cmd, true); err != nil {
				return err
			}
			if err := request.complete(cmd, &store); err != nil {
				return err
			}
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
	store.register(cmd, p)
	request.register(cmd)
	cmd.Flags().Int64Var(&replicas, "replicas", 0, "how many replicas of the service run at a time (default: not checked)")
	if p.Numbers {
		cmd.Flags().IntVar(&store.waits, "wait-replicas", 0, "wait_replicas of the application's configuration")
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

func (d *doctor) compares() bool { return d.store.quarantine == lease.QuarantineOnChange }

func (d *doctor) examine(ctx context.Context) {
	o, err := d.store.open(ctx)
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
	if !d.request.lends() {
		d.Note("mode", fmt.Sprintf("%s has mode: %s, which lends no worker ids", d.store.app.file, d.request.mode), "there is no namespace to check")
	}
	d.namespace(ctx, o)
}

// name returns the namespace, or a placeholder if none is given.
func (d *doctor) name() string { return cmp.Or(d.store.namespace, "snowlease-doctor") }

// incarnation checks that several connections reach the same server.
func (d *doctor) incarnation(ctx context.Context) {
	const check = "incarnation"
	if !d.compares() {
		d.OK(check, "not compared (quarantine: never)")
		return
	}
	ask := func() (string, error) {
		o, err := d.store.at.Again(ctx, d.store.options())
		if err != nil {
			return "", err
		}
		id, err := o.Incarnation(ctx, d.name())
		return id, errors.Join(err, o.Close())
	}
	seen := map[string]bool{}
	last := ""
	for range 4 {
		id, err := ask()
		if err != nil {
			told := slices.ContainsFunc(d.List, func(f lease.Finding) bool { return f.Level == lease.LevelFault && f.Check == "rights" })
			if errors.Is(err, lease.ErrSetup) && !told {
				d.Fault(check, err.Error(), "no worker id can be borrowed until this is fixed")
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
	d.Fault(check, fmt.Sprintf("4 connections reached %d different servers, the last %s", len(seen), last),
		"several servers answer at this address: make it lead to only one of them, the primary or one node of the cluster")
}

// namespace checks the records of the namespace, and the layout.
func (d *doctor) namespace(ctx context.Context, o *target.Opened) {
	members := d.request.request
	source := ""
	if !d.request.given {
		source = "the default layout, "
	}
	if d.store.namespace == "" {
		d.Note("namespace", "none is given; rights were tried for "+d.name()+", which need not exist", "give --namespace, to check its records and the rights on its keys")
	} else if d.request.lends() {
		rec, err := o.Record(ctx, d.store.namespace)
		switch {
		case errors.Is(err, lease.ErrUnknown):
			d.Note("namespace", "nothing is on record for "+d.store.namespace, "the first start creates the record; if there should be one, check its spelling, --prefix and --store")
		case err != nil:
			d.Fault("namespace", err.Error(), "the worker ids were not checked")
		default:
			if d.record(&members, rec) {
				source = ""
			}
			d.workers(ctx, o, rec, members)
		}
	}
	l, err := parseLayout(members.Layout)
	if err != nil {
		d.Fault("layout", err.Error(), "check whether another program wrote the record")
		return
	}
	l = l.WithDefaults()
	seen := fmt.Sprintf("%s%s: until %s, %.0f ids a second for each worker id", source, l, endOf(l), perSecond(l))
	fault, few := l.CheckTime(time.Now()), settings.FewIDs(l)
	switch {
	case fault != nil:
		d.Fault("layout", fault.Error(), "choose another: \"snowlease layout\" shows when its time runs out")
	case yearsLeft(l, time.Now()) < 5:
		d.Note("layout", seen, "less than 5 years left: plan the change to another layout")
	case few != "":
		d.Note("layout", seen, few)
	default:
		d.OK("layout", seen)
	}
	if d.replicas > 0 && d.request.lends() {
		n := members.Last - members.First + 1
		good := snowlease.Pool{First: members.First, Last: members.Last}.Replicas()
		seen := fmt.Sprintf("%d replicas; %d worker ids, sufficient for %d", d.replicas, n, good)
		advice := "choose a layout with more worker bits, such as wide"
		if n < members.Pool {
			advice = "widen the range workers of the configuration"
		}
		switch {
		case d.replicas > n:
			d.Fault("pool", seen, "there are fewer worker ids than replicas: "+advice)
		case d.replicas > good:
			d.Fault("pool", seen, "a rolling deploy or crashed replicas can use up the worker ids: "+advice)
		default:
			d.OK("pool", seen)
		}
	}
}

// record compares the pin with the given configuration of the members. If none is given, it
// takes the configuration from the pin and reports that.
func (d *doctor) record(members *lease.Request, rec lease.Record) (taken bool) {
	pin, err := rec.Pin, rec.Pin.Err()
	joined, joins := pin.Join(*members)
	switch {
	case pin.Retired:
		d.Fault("namespace", "it is "+pin.String(), "give processes that still use it the configuration that replaces it")
	case err != nil:
		d.Fault("namespace", err.Error(), "check whether another program wrote the record")
	case d.request.given && joins && (joined.MaxTTL != pin.MaxTTL || joined.Skew != pin.Skew):
		d.Note("namespace", pin.String(), fmt.Sprintf("the configuration raises that to max_ttl %v and skew %v when its first process starts, and uses it about %v later", joined.MaxTTL, joined.Skew, pin.Hold()))
	case d.request.given && joins && (pin.MaxTTL > members.MaxTTL || pin.Skew > members.Skew):
		d.Note("namespace", pin.String(), "it allows for more than the configuration, "+members.Pin().String()+": times run further ahead after a loss of records; it falls when no process needs it any more and one starts")
	case d.request.given && !joins:
		d.Fault("namespace", "it is pinned to "+pin.String()+", but the configuration says "+members.Pin().String(),
			"give all members the pinned configuration, or give the others a namespace of their own")
	default:
		d.OK("namespace", pin.String())
	}
	taken = err == nil && !d.request.given
	if taken {
		members.Layout, members.Pool, members.Last, members.MaxTTL, members.Skew = pin.Layout, pin.Pool, pin.Pool-1, pin.MaxTTL, pin.Skew
	}
	if rec.Quarantined() {
		advice := "it ends on its own"
		if l, err := late(rec, nil); err == nil && l.quarantine {
			advice = "see the check of times"
		}
		d.Note("quarantine", lossOf(rec.Reason)+"; "+ahead(rec), advice)
	}
	return taken
}

func (d *doctor) workers(ctx context.Context, o *target.Opened, rec lease.Record, members lease.Request) {
	slots, err := o.Slots(ctx, d.store.namespace)
	if errors.Is(err, lease.ErrDamaged) {
		d.Fault("workers", err.Error(), "no worker id is lent by a damaged record: put it right, or delete it, which starts a quarantine")
		return
	}
	if err != nil {
		d.Unknown("workers", err)
		return
	}
	if l, err := late(rec, slots); err == nil && !l.none() {
		d.Fault("times", l.String(), "the store's clock was ahead when they were written, or is behind now, or another program wrote them: compare it with the clock of another host, and fix the cause first; then wait if they pass soon, or delete these records as docs/operations.md#late-times says")
	} else if err == nil {
		d.OK("times", "no recorded time is later than members can write")
	}
	free, all := 0, 0
	for _, s := range slots {
		if s.Worker < members.First || s.Worker > members.Last {
			continue
		}
		all++
		// After a loss, marks without a holder lie ahead of the clock, and ranges above them are lent.
		if s.Expires < s.Now && (s.Holder == "" || s.Mark < s.Now) {
			free++
		}
	}
	seen := fmt.Sprintf("%d of %d are free", free, all)
	if free*4 < all {
		d.Note("workers", seen, "few are left: \"snowlease workers\" shows the holders")
	} else {
		d.OK("workers", seen)
	}
}

func (d *doctor) print(cmd *cobra.Command, asJSON bool) error {
	for _, f := range d.List {
		f.Seen = printable.Text(f.Seen)
		if asJSON {
			if err := printJSON(cmd.OutOrStdout(), f); err != nil {
				return err
			}
			continue
		}
		text := fmt.Sprintf("%-5s  %-13s  %s\n", f.Level, f.Check, f.Seen)
		if f.Advice != "" {
			text += fmt.Sprintf("%22s-> %s\n", "", f.Advice)
		}
		if _, err := io.WriteString(cmd.OutOrStdout(), text); err != nil {
			return err
		}
	}
	return nil
}
