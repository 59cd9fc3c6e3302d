package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// lateTimes are recorded times that no member can have written, by the store's clock:
// leases, marks and quarantines end within max_ttl and skew.
type lateTimes struct {
	now        int64 // by the store's clock
	latest     int64 // the latest time that a member can have written
	last       int64 // the latest time on record
	quarantine bool
	slots      []lease.Slot
	pin        lease.Pin
}

// lateIn goes by the pin on record, which must be that of the configuration, if there is one.
func lateIn(ctx context.Context, o *target.Opened, namespace string, members *requestFlags) (lateTimes, error) {
	rec, err := o.Record(ctx, namespace)
	if err != nil {
		return lateTimes{}, err
	}
	if members.given && members.lends() && rec.Pin.Err() == nil {
		if pin, ok := rec.Pin.Join(members.request); !ok || pin.MaxTTL > rec.Pin.MaxTTL || pin.Skew > rec.Pin.Skew {
			return lateTimes{}, fmt.Errorf("namespace %q is pinned to %s, but %s says %s: mend would lower times that are in use; correct the one that is wrong",
				namespace, printable.Text(rec.Pin.String()), members.from, members.request.Pin())
		}
	}
	slots, err := o.Slots(ctx, namespace)
	if err != nil {
		return lateTimes{}, err
	}
	return late(rec, slots)
}

func late(rec lease.Record, slots []lease.Slot) (lateTimes, error) {
	if err := rec.Pin.Err(); err != nil {
		return lateTimes{}, err
	}
	hold := rec.Pin.Hold().Milliseconds()
	l := lateTimes{pin: rec.Pin, now: rec.Now, latest: rec.Now + hold, last: rec.Quarantine}
	l.quarantine = rec.Quarantine > l.latest
	for _, s := range slots {
		if last := max(s.Since, s.Expires, s.Mark, s.Token); last > s.Now+hold {
			l.slots, l.last = append(l.slots, s), max(l.last, last)
		}
	}
	return l, nil
}

func (l lateTimes) none() bool { return !l.quarantine && len(l.slots) == 0 }

// String describes the late times: "the quarantine and worker ids (3: 0, 1, 2): ...".
func (l lateTimes) String() string {
	var what []string
	if l.quarantine {
		what = append(what, "the quarantine")
	}
	if n := len(l.slots); n > 0 {
		var names []string
		for _, s := range l.slots[:min(n, 8)] {
			names = append(names, fmt.Sprint(s.Worker))
		}
		if n > 8 {
			names = append(names, "...")
		}
		what = append(what, fmt.Sprintf("worker ids (%d: %s)", n, strings.Join(names, ", ")))
	}
	return fmt.Sprintf("%s: recorded times reach %s, but by the store's clock, which says %s, members write none later than %s",
		strings.Join(what, " and "), at(l.last), at(l.now), at(l.latest))
}

func mendCommand(p program) *cobra.Command {
	var (
		store       storeFlags
		members     requestFlags
		yes, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "mend --namespace NS [flags]",
		Short: "Lower times that no process can have written",
		Long: `Mend lowers recorded times that no process of the namespace can have written: those more
than max-ttl + skew ahead of the store's clock. It lowers them to that limit. Such times
can block starts for a long time. They come from a store's clock that was ahead or is behind
now, or from another program that wrote to the store. "snowlease doctor" finds them.

Mend refuses to run while the store's clock and this host's differ by more than 5 minutes.
Run it on another host than the store's, or it compares a clock with itself. While the lease of a worker id runs, mend leaves its mark, names the holder and exits
with 3. Stop that process, and mend again after its lease has ended.

Mend cannot check four things. Make sure of all, or ids may be issued twice:

  - The store's clock is right, if mend runs on the host of the store, as it always does
    with SQLite. By a clock that is behind, it lowers the marks of ids in use.
  - No id with such a late time exists. One does if the store's clock was really ahead
    and processes issued ids by it. Check your highest ids with "snowlease decode". If
    you find one, do not mend: its worker id stays unused, and the others go on.
  - No process that held one of these worker ids is cut off from the store, paused, or
    a snapshot that may be resumed. It could still use its range. End it.
  - The max-ttl and skew on record are those of the processes, if no configuration is
    given. With one, mend compares them.`,
		Example: `  snowlease mend --namespace orders`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(cmd, false); err != nil {
				return err
			}
			if err := members.complete(cmd, &store); err != nil {
				return err
			}
			var found lateTimes
			look := func(ctx context.Context, o *target.Opened) (err error) {
				found, err = lateIn(ctx, o, store.namespace, &members)
				return err
			}
			if err := store.with(cmd, look); err != nil {
				return err
			}
			result := "nothing to mend"
			if !found.none() {
				if err := store.confirm(cmd, yes, "%s.\nAre you sure that the store's clock is right, that no id with a later time exists, that no process that held one of these worker ids is cut off or paused, and that the processes have max_ttl %v and skew %v?", found, found.pin.MaxTTL, found.pin.Skew); err != nil {
					return err
				}
				result = "no recorded time is later than " + at(found.latest)
				if err := store.with(cmd, func(ctx context.Context, o *target.Opened) error {
					local := time.Now()
					if o.Clock != nil {
						var err error
						if local, err = o.Clock(ctx); err != nil {
							return err
						}
					}
					if err := o.Mend(ctx, store.namespace, local.UnixMilli()); err != nil {
						return err
					}
					return look(ctx, o)
				}); err != nil {
					return err
				}
			}
			if len(found.slots) > 0 {
				s, do := found.slots[0], "mend again after that"
				first := "has no name of a holder on record, and its lease ends at"
				if s.Holder == "" {
					do += fmt.Sprintf("; if it ends later then, a process renews it: \"snowlease release --worker=%d --token=%d\" takes it away", s.Worker, s.Token)
				}
				if s.Holder != "" {
					first = fmt.Sprintf("is lent to %q until", printable.Text(s.Holder))
				}
				if slices.ContainsFunc(found.slots, func(s lease.Slot) bool { return s.Holder != "" }) {
					do = "stop the holders, and " + do
				}
				return failure{exitNo, fmt.Errorf("namespace %q: %d worker ids with a late mark have leases that run, and the first (%d) %s %s: %s",
					store.namespace, len(found.slots), s.Worker, first, at(s.Expires), do)}
			}
			return answer(cmd, asJSON, map[string]string{"namespace": store.namespace, "result": result},
				"namespace %q: %s\n", store.namespace, result)
		},
	}
	store.register(cmd, p)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	jsonFlag(cmd, &asJSON)
	return cmd
}
