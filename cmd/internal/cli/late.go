package cli

import (
	"fmt"
	"strings"

	"github.com/snowlease/snowlease/lease"
)

// lateTimes are recorded times that no member can have written: by the store's clock, leases,
// marks and quarantines end within max_ttl and skew.
type lateTimes struct {
	now        int64 // by the store's clock
	latest     int64 // the latest time that a member can have written
	last       int64 // the latest recorded time
	quarantine bool
	workers    []string
}

func late(rec lease.Record, slots []lease.Slot) (lateTimes, error) {
	if err := rec.Pin.Err(); err != nil {
		return lateTimes{}, err
	}
	hold := rec.Pin.Hold().Milliseconds()
	l := lateTimes{now: rec.Now, latest: rec.Now + hold, last: rec.Quarantine}
	l.quarantine = rec.Quarantine > l.latest
	for _, s := range slots {
		if last := max(s.Since, s.Expires, s.HighWater, s.Token); last > s.Now+hold {
			l.workers, l.last = append(l.workers, fmt.Sprint(s.Worker)), max(l.last, last)
		}
	}
	return l, nil
}

func (l lateTimes) none() bool { return !l.quarantine && len(l.workers) == 0 }

// String describes the late times: "the quarantine and worker ids (3: 0, 1, 2): ...".
func (l lateTimes) String() string {
	var what []string
	if l.quarantine {
		what = append(what, "the quarantine")
	}
	if n := len(l.workers); n > 0 {
		names := l.workers[:min(n, 8)]
		if n > 8 {
			names = append(names, "...")
		}
		what = append(what, fmt.Sprintf("worker ids (%d: %s)", n, strings.Join(names, ", ")))
	}
	return fmt.Sprintf("%s: recorded times reach %s, but the store's clock is at %s, and members now write no time later than %s",
		strings.Join(what, " and "), at(l.last), at(l.now), at(l.latest))
}
