package model

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// limit is the number of states that this run explores of a configuration, three times what
// the broken variants need.
func limit() int {
	if os.Getenv("SNOWLEASE_MODEL") == "full" {
		return 12_000_000
	}
	return 300_000
}

// toTheEnd is a limit for searches that end before it.
const toTheEnd = 900_000

// String returns the bounds of a search.
func (c config) String() string {
	out := fmt.Sprintf("%s: %d worker, holders with TTL %v, %d ticks, %d late grants", c.Name, c.Workers, c.TTL, c.Ticks, c.Known)
	if c.Steps > 0 {
		out += fmt.Sprintf(", clock back by %d, skew %d", c.Back, c.Skew)
	}
	var faults []string
	for i, on := range []bool{c.Wipe, c.Parts, c.Failover} {
		if on {
			faults = append(faults, [...]string{"wipe", "parts", "failover"}[i])
		}
	}
	if faults != nil {
		out += fmt.Sprintf(", losses: %d of %s", c.Losses, strings.Join(faults, ", "))
	}
	return out
}

// both are explored with each kind of renewal.
var both = []config{
	{Name: "parts lost twice", TTL: []int8{2, 2}, Ticks: 6, Parts: true, Losses: 2},
	{Name: "wipe and part, the clock steps back", TTL: []int8{2, 2}, Ticks: 6, Parts: true, Wipe: true, Losses: 2, Back: 1, Steps: 1, Skew: 1},
	{Name: "wipe, part and failover", TTL: []int8{2, 2, 2}, Ticks: 6, Wipe: true, Parts: true, Failover: true, Losses: 3},
	{Name: "two failovers, three holders, the clock steps back", TTL: []int8{2, 2, 2}, Ticks: 6, Failover: true, Losses: 2, Back: 1, Steps: 1, Skew: 1},
	{Name: "parts of two workers lost twice, the clock steps back", Workers: 2, TTL: []int8{2, 2}, Ticks: 4, Parts: true, Losses: 2, Back: 1, Steps: 1, Skew: 1},
	{Name: "late replies, two wipes", TTL: []int8{2, 2}, Ticks: 5, LateReplies: true, Wipe: true, Losses: 2},
	{Name: "late replies, two failovers", TTL: []int8{2, 2}, Ticks: 5, LateReplies: true, Failover: true, Losses: 2},
}

// TestSafe explores the unchanged rules. The letters are those of the protocol's first model.
func TestSafe(t *testing.T) {
	t.Parallel()
	for _, c := range append(both, []config{
		{Name: "A1 the protocol", TTL: []int8{2, 2, 2}, Ticks: 5},
		{Name: "A2 three at once", TTL: []int8{1, 1, 1}, Ticks: 4},
		{Name: "A2 four at once", TTL: []int8{1, 1, 1, 1}, Ticks: 4},
		{Name: "A3 two workers", Workers: 2, TTL: []int8{1, 1, 1}, Ticks: 2},
		{Name: "A4 the clock steps back", TTL: []int8{2, 2}, Ticks: 5, Back: 2, Steps: 1},
		{Name: "A4 the clock steps back, three holders", TTL: []int8{2, 2, 2}, Ticks: 5, Back: 2, Steps: 1},
		{Name: "last use from anywhere", TTL: []int8{1, 1, 1}, Ticks: 3, Back: 2, Steps: 1, Wild: true},
		{Name: "late replies", TTL: []int8{2, 2}, Ticks: 4, LateReplies: true, Wipe: true, Losses: 1},
		{Name: "B3 W1 wipe", TTL: []int8{1, 1}, Ticks: 6, Wipe: true, Losses: 1},
		{Name: "B3 W1 wipe, three holders", TTL: []int8{1, 1, 1}, Ticks: 6, Wipe: true, Losses: 1},
		{Name: "W3 two wipes", TTL: []int8{1, 1}, Ticks: 6, Wipe: true, Losses: 2},
		{Name: "B6 F1 failover", TTL: []int8{1, 1}, Ticks: 6, Failover: true, Losses: 1},
		{Name: "B6 F1 failover, three holders", TTL: []int8{1, 1, 1}, Ticks: 6, Failover: true, Losses: 1},
		{Name: "B6 F1 failover, to the end", TTL: []int8{1, 1}, Ticks: 4, Failover: true, Losses: 1, Known: 1, Limit: toTheEnd},
		{Name: "two failovers", TTL: []int8{1, 1}, Ticks: 6, Failover: true, Losses: 2},
		{Name: "C2 wipe, the clock steps back", TTL: []int8{1, 1}, Ticks: 7, Wipe: true, Losses: 1, Back: 2, Steps: 1, Skew: 2, Limit: toTheEnd},
		{Name: "S3 wipe, the clock steps back", TTL: []int8{3, 3}, Ticks: 8, Wipe: true, Losses: 1, Back: 2, Steps: 1, Skew: 2},
		{Name: "S4 failover, the clock steps back", TTL: []int8{3, 3}, Ticks: 8, Failover: true, Losses: 1, Back: 2, Steps: 1, Skew: 2},
		{Name: "a part lost", TTL: []int8{1, 1}, Ticks: 5, Parts: true, Losses: 1, Limit: toTheEnd},
		{Name: "a part of two workers lost", Workers: 2, TTL: []int8{1, 1}, Ticks: 3, Parts: true, Losses: 1},
		{Name: "wipe, mixed TTLs", TTL: []int8{3, 1}, Ticks: 8, Wipe: true, Losses: 1},
		{Name: "wipe, mixed TTLs, to the end", TTL: []int8{3, 1}, Ticks: 6, Wipe: true, Losses: 1, Known: 1, Limit: toTheEnd},
		{Name: "failover, mixed TTLs", TTL: []int8{3, 1}, Ticks: 8, Failover: true, Losses: 1},
		{Name: "a member allows for more, a part lost twice", TTL: []int8{1, 1, 1}, MaxTTL: []int8{3, 1, 1}, Ticks: 5, Parts: true, Losses: 2},
		{Name: "a member allows for more, wipe", TTL: []int8{1, 1}, MaxTTL: []int8{3, 1}, Ticks: 6, Wipe: true, Losses: 1},
		{Name: "a member allows for more, failover", TTL: []int8{1, 1}, MaxTTL: []int8{3, 1}, Ticks: 6, Failover: true, Losses: 1},
		{Name: "all allow for more, a part lost and failover", TTL: []int8{2, 1}, MaxTTL: []int8{2, 2}, Opened: 1, Ticks: 6, Parts: true, Failover: true, Losses: 2},
		{Name: "two members raise, failover", TTL: []int8{3, 2}, MaxTTL: []int8{3, 2}, Opened: 1, Ticks: 7, Failover: true, Losses: 1},
		{Name: "a member raises, two failovers", TTL: []int8{3, 1}, MaxTTL: []int8{3, 1}, Opened: 1, Ticks: 7, Failover: true, Losses: 2},
		{Name: "a member raises, the clock steps back, failover", TTL: []int8{3, 1}, MaxTTL: []int8{3, 1}, Opened: 1, Ticks: 7, Failover: true, Losses: 1, Back: 1, Steps: 1, Skew: 1},
		{Name: "three wipes", TTL: []int8{2, 2, 2}, Ticks: 6, Wipe: true, Losses: 3},
		{Name: "two failovers, three holders", TTL: []int8{2, 2, 2}, Ticks: 6, Failover: true, Losses: 2},
		{Name: "two wipes, one holder waits", TTL: []int8{2, 2, 2}, Ticks: 6, Wipe: true, Losses: 2, Exact: true},
		{Name: "two failovers, one holder waits", TTL: []int8{2, 2, 2}, Ticks: 6, Failover: true, Losses: 2, Exact: true},
	}...) {
		safe(t, c, theRules())
	}
}

// safe explores a config in a subtest, which fails if a violation is found.
func safe(t *testing.T, c config, v verbs) {
	t.Run(c.Name, func(t *testing.T) {
		t.Parallel()
		c.Limit = max(c.Limit, limit())
		m, begin := newModel(c, v), time.Now()
		r := m.search()
		t.Logf("%v: %v (%v)", m.config, r, time.Since(begin).Round(time.Millisecond))
		if r.found != 0 {
			t.Errorf("%v found", r.found)
		}
	})
}

// TestSafeAlone explores renewals that do not look at the records of others.
func TestSafeAlone(t *testing.T) {
	t.Parallel()
	for _, c := range append(both, []config{
		{Name: "the clock steps back, three holders", TTL: []int8{2, 2, 2}, Ticks: 5, Back: 2, Steps: 1},
		{Name: "parts of two workers lost", Workers: 2, TTL: []int8{2, 2}, Ticks: 4, Parts: true, Losses: 1},
		{Name: "parts of two workers lost, three holders, the clock steps back", Workers: 2, TTL: []int8{1, 1, 1}, Ticks: 4, Parts: true, Losses: 1, Back: 2, Steps: 1, Skew: 2},
		{Name: "part of two workers lost, and a failover", Workers: 2, TTL: []int8{1, 1, 1}, Ticks: 4, Parts: true, Failover: true, Losses: 2},
	}...) {
		c.Alone = true
		safe(t, c, alone(theRules()))
	}
}

// TestSafeApart explores centers whose clock is that of the caller, while the clocks of the
// callers differ. Without a loss, they may differ by anything; across a loss, by the skew.
func TestSafeApart(t *testing.T) {
	t.Parallel()
	for _, c := range []config{
		{Name: "clocks apart", TTL: []int8{2, 2, 2}, Ticks: 4, Apart: []int8{0, 3, 6}},
		{Name: "clocks apart by more than a TTL, which step back", TTL: []int8{1, 1, 1}, Ticks: 3, Apart: []int8{0, 4, 8}, Back: 2, Steps: 1, Wild: true},
		{Name: "two workers, clocks apart", Workers: 2, TTL: []int8{1, 1, 1}, Ticks: 2, Apart: []int8{0, 2, 5}, Limit: toTheEnd},
		{Name: "wipe, clocks apart by the skew", TTL: []int8{1, 1, 1}, Ticks: 7, Wipe: true, Losses: 1, Apart: []int8{0, 1, 2}, Skew: 2},
		{Name: "failover, clocks apart by the skew", TTL: []int8{2, 2}, Ticks: 7, Failover: true, Losses: 1, Apart: []int8{0, 2}, Skew: 2},
		{Name: "parts lost twice, clocks apart by the skew", TTL: []int8{2, 2}, Ticks: 6, Parts: true, Losses: 2, Apart: []int8{0, 1}, Skew: 1},
	} {
		c.Alone = true
		safe(t, c, alone(theRules()))
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	s := rangeOf(8, 10) | rangeOf(12, 13)
	if s.String() != "(8,10]+(12,13]" || s.top() != 13 || s&rangeOf(10, 12) != 0 || rangeOf(9, 9) != 0 || span(0).top() != 0 {
		t.Errorf("%v, top %d", s, s.top())
	}
}
