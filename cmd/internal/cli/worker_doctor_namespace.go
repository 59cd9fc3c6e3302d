package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/internal/settings"
	"github.com/snowlease/snowlease/lease"
)

// namespace checks the records of the namespace, and the layout.
func (d *doctor) namespace(ctx context.Context, o *target.Opened) {
	members := d.request.request
	source := ""
	if !d.request.given {
		source = "the default layout, "
	}
	if !d.request.lends() {
		d.Note("mode", fmt.Sprintf("%s has mode: %s, which lends no worker ids", d.store.app.file, d.request.mode), "there is no namespace to check")
	} else if d.store.namespace == "" {
		d.Note("namespace", "none is given; rights were tried for "+d.name()+", which need not exist", "give --namespace, to check its records and the rights on its keys")
	} else if rec, err := o.Record(ctx, d.store.namespace); errors.Is(err, lease.ErrUnknown) {
		d.Note("namespace", "nothing is on record for "+d.store.namespace, "the first start creates the record; if there should be one, check its spelling, --prefix and --store")
	} else if err != nil {
		d.Fault("namespace", err.Error(), "the worker ids were not checked")
	} else {
		if d.record(&members, rec) {
			source = ""
		}
		d.workers(ctx, o, rec, members)
	}
	d.layout(members.Layout, source)
	if d.replicas > 0 && d.request.lends() {
		d.pool(members)
	}
}

// layout checks a layout. source is the beginning of the finding and names the origin of the
// layout.
func (d *doctor) layout(text, source string) {
	l, err := parseLayout(text)
	if err != nil {
		d.Fault("layout", err.Error(), "check whether another program wrote the record")
		return
	}
	if err := l.CheckTime(time.Now()); err != nil {
		d.Fault("layout", err.Error(), "choose another: \"snowlease layout\" shows when its time runs out")
		return
	}
	few := settings.FewIDs(l)
	d.Table("layout", fmt.Sprintf("%s%s: until %s, %.0f ids a second for each worker id", source, l, endOf(l), perSecond(l)),
		findings.Note(yearsLeft(l, time.Now()) < 5, "less than 5 years left: plan the change to another layout"),
		findings.Note(few != "", few))
}

// pool checks whether there are enough worker ids for the replicas.
func (d *doctor) pool(members lease.Request) {
	n := members.Last - members.First + 1
	good := snowlease.Pool{First: members.First, Last: members.Last}.Replicas()
	advice := "choose a layout with more worker bits, such as wide"
	if n < members.Pool {
		advice = "widen the range workers of the configuration"
	}
	d.Table("pool", fmt.Sprintf("%d replicas; %d worker ids, sufficient for %d", d.replicas, n, good),
		findings.Fault(d.replicas > n, "there are fewer worker ids than replicas: "+advice),
		findings.Fault(d.replicas > good, "a rolling deploy or crashed replicas can use up the worker ids: "+advice))
}

// record compares the pin with the members' configuration. If none was given, it uses the pin's
// configuration and reports true.
func (d *doctor) record(members *lease.Request, rec lease.Record) (taken bool) {
	pin := rec.Pin
	switch err := pin.Err(); {
	case pin.Retired:
		d.Fault("namespace", "it is "+pin.String(), "give processes that still use it the configuration that replaces it")
	case err != nil:
		d.Fault("namespace", err.Error(), "check whether another program wrote the record")
	case d.request.given:
		d.compare(*members, pin)
	default:
		taken = true
		d.OK("namespace", pin.String())
		members.Layout, members.Pool, members.Last, members.MaxTTL, members.Skew = pin.Layout, pin.Pool, pin.Pool-1, pin.MaxTTL, pin.Skew
	}
	if rec.Quarantined() {
		advice := "it ends on its own"
		if late(rec, nil) != "" {
			advice = "see the check of times"
		}
		d.Note("quarantine", lossOf(rec.Reason)+"; "+ahead(rec), advice)
	}
	return taken
}

// compare compares the members' configuration with the pin.
func (d *doctor) compare(members lease.Request, pin lease.Pin) {
	joined, joins := pin.Join(members)
	d.Table("namespace", pin.String(),
		findings.Fault(!joins, "the configuration says "+members.Pin().String()+": give all members the pinned configuration, or give the others a namespace of their own"),
		findings.Note(joined.MaxTTL != pin.MaxTTL || joined.Skew != pin.Skew, fmt.Sprintf("when the first process with the configuration starts, it raises the pin to max_ttl %v and skew %v, and uses them about %v later", joined.MaxTTL, joined.Skew, pin.Hold())),
		findings.Note(pin.MaxTTL > members.MaxTTL || pin.Skew > members.Skew, "the pin exceeds the configuration, "+members.Pin().String()+": after a loss of records, times run further ahead; a start lowers the pin once no process needs it"))
}

func (d *doctor) workers(ctx context.Context, o *target.Opened, rec lease.Record, members lease.Request) {
	slots, err := o.Slots(ctx, d.store.namespace)
	if errors.Is(err, lease.ErrDamaged) {
		d.Fault("workers", err.Error(), "a damaged record lends no worker id: correct it, or delete it, which starts a quarantine")
		return
	}
	if err != nil {
		d.Unknown("workers", err)
		return
	}
	if text := late(rec, slots); text != "" {
		d.Fault("times", text, "the store's clock was ahead when the records were written or is behind now, or another program wrote them: compare the clock with another host's, and fix the cause first; then wait if the times pass soon, or delete these records as in docs/operations.md#late-times")
	} else if rec.Pin.Err() == nil {
		d.OK("times", "no recorded time is later than members can write")
	}
	free, all := 0, 0
	for _, s := range slots {
		if s.Worker < members.First || s.Worker > members.Last {
			continue
		}
		all++
		// After a loss, marks without a holder lie ahead of the clock; their worker ids can
		// still be lent.
		if s.Expires < s.Now && (s.Holder == "" || s.HighWater < s.Now) {
			free++
		}
	}
	d.Table("workers", fmt.Sprintf("%d of %d are free", free, all),
		findings.Note(free*4 < all, "few are left: \"snowlease workers\" shows the holders"))
}
