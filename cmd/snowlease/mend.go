package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// lateTimes are those on record of a namespace that no member can have written by the
// store's clock: leases, marks and quarantines end within max_ttl and skew.
type lateTimes struct {
	latest     int64 // that a member can have written
	last       int64 // on record
	quarantine bool
	slots      []lease.Slot
}

func lateIn(ctx context.Context, o *opened, namespace string) (lateTimes, error) {
	rec, err := o.Record(ctx, namespace)
	if err != nil {
		return lateTimes{}, err
	}
	slots, err := o.Slots(ctx, namespace)
	if err != nil {
		return lateTimes{}, err
	}
	return late(rec, slots)
}

func late(rec lease.Record, slots []lease.Slot) (lateTimes, error) {
	pinned, err := lease.ParsePin(rec.Pin)
	if err != nil {
		return lateTimes{}, err
	}
	hold := (pinned.MaxTTL + pinned.Skew).Milliseconds()
	l := lateTimes{latest: rec.Now + hold, last: rec.Quarantine}
	l.quarantine = rec.Quarantine > l.latest
	for _, s := range slots {
		if last := max(s.Since, s.Expires, s.Mark, s.Token); last > s.Now+hold {
			l.slots, l.last = append(l.slots, s), max(l.last, last)
		}
	}
	return l, nil
}

func (l lateTimes) none() bool { return !l.quarantine && len(l.slots) == 0 }

// String says what is late: "the quarantine and 3 worker ids (0, 1, 2) have times ...".
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
	return fmt.Sprintf("%s: times on record of up to %s, later than %s, the latest that a member can write",
		strings.Join(what, " and "), at(l.last), at(l.latest))
}

func mendCommand() *cobra.Command {
	var (
		store       storeFlags
		yes, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "mend --namespace NS [flags]",
		Short: "Lower times that no process can have written",
		Long: `Mend lowers times on record that no process of the namespace can have written, those
more than max-ttl and skew ahead of the store's clock, to just that. Such times lock
starts out, for ages if they are far. They come from a store's clock that was ahead, or
from another program that writes to the store. "snowlease doctor" finds them.

It refuses while the store's clock is more than 5 minutes off this host's. It leaves the
mark of a worker id alone while its lease runs, names the holder and exits with 3: stop
that process, and mend again when the lease has ended.

Two things it cannot see; ids come twice if you confirm that they are not so and they are:

  - An id of such a later time exists: the store's clock was really ahead, and ids were
    made by it. Look at the greatest ids that you have ("snowlease decode"). If there is
    one, do not mend: change to a layout whose ids lie above it.
  - A process that has had one of these worker ids is cut off from the store, paused, or
    a snapshot to be resumed: it may go on with its mark. End it.`,
		Example: `  snowlease mend --namespace orders`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := store.complete(false); err != nil {
				return err
			}
			var found lateTimes
			look := func(ctx context.Context, o *opened) (err error) {
				found, err = lateIn(ctx, o, store.namespace)
				return err
			}
			if err := store.with(cmd, look); err != nil {
				return err
			}
			result := "nothing is to be mended"
			if !found.none() {
				if err := confirm(cmd, yes, "%s.\nNo id of a later time exists, and no process that had one of these worker ids is cut off or paused?", found); err != nil {
					return err
				}
				result = "no time on record is later than " + at(found.latest)
				if err := store.with(cmd, func(ctx context.Context, o *opened) error {
					if err := o.Mend(ctx, store.namespace, time.Now().UnixMilli()); err != nil {
						return err
					}
					return look(ctx, o)
				}); err != nil {
					return err
				}
			}
			if len(found.slots) > 0 {
				s := found.slots[0]
				return failure{exitNo, fmt.Errorf("worker ids of %q with a late mark are lent, %d in all, the first, %d, to %q until %s: stop what holds them, and mend again then",
					store.namespace, len(found.slots), s.Worker, printable.Text(s.Holder), at(s.Expires))}
			}
			return answer(cmd, asJSON, map[string]string{"namespace": store.namespace, "result": result},
				"namespace %q: %s\n", store.namespace, result)
		},
	}
	store.register(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	jsonFlag(cmd, &asJSON)
	return cmd
}
