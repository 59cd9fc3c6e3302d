package cli

import (
	"fmt"
	"strings"

	"github.com/snowlease/snowlease/lease"
)

// late describes the recorded times that no member can have written, or returns "". By the store's
// clock, leases, marks and quarantines end within max_ttl and skew.
func late(rec lease.Record, slots []lease.Slot) string {
	if rec.Pin.Err() != nil {
		return ""
	}
	hold := rec.Pin.Hold().Milliseconds()
	latest, last := rec.Now+hold, rec.Quarantine
	var what, workers []string
	if rec.Quarantine > latest {
		what = append(what, "the quarantine")
	}
	for _, s := range slots {
		if t := max(s.Since, s.Expires, s.HighWater, s.Token); t > s.Now+hold {
			workers, last = append(workers, fmt.Sprint(s.Worker)), max(last, t)
		}
	}
	if n := len(workers); n > 0 {
		if n > 8 {
			workers = append(workers[:8], "...")
		}
		what = append(what, fmt.Sprintf("worker ids (%d: %s)", n, strings.Join(workers, ", ")))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: recorded times reach %s, but the store's clock is at %s, and members now write no time later than %s",
		strings.Join(what, " and "), at(last), at(rec.Now), at(latest))
}
