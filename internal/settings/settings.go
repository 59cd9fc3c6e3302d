// Package settings checks the settings of a worker for packages snowlease and idworker, which
// have different names for them.
package settings

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Check adds faults to a list. Name returns what errors call a setting, by its field in
// snowlease.Config.
type Check struct {
	*fault.List
	Name func(field string) string
}

// Namespace checks the name.
func (c Check) Namespace(ns string) {
	if ns == "" {
		c.Add(c.Name("Namespace"), nil, "is empty").Do(`name the service, such as "orders"; all its replicas use the same namespace`)
	} else if lease.CheckNamespace(ns) != nil {
		c.Add(c.Name("Namespace"), ns, "is not a valid name").Do("give 1 to %d characters of A-Z a-z 0-9 . _ -", lease.MaxNamespace)
	}
}

// Holder checks the length.
func (c Check) Holder(holder string) {
	if len(holder) > lease.MaxHolder {
		c.Add(c.Name("Holder"), holder, "has %d bytes", len(holder)).Do("give at most %d", lease.MaxHolder)
	}
}

// Layout returns l with its defaults, or the default layout if l is faulty.
func (c Check) Layout(l snowflake.Layout) snowflake.Layout {
	l = l.WithDefaults()
	err := l.Validate()
	if err == nil {
		err = l.CheckTime(time.Now())
	}
	if err != nil {
		c.Take(err, func(string) string { return c.Name("Layout") })
		return snowflake.Layout{}.WithDefaults()
	}
	return l
}

// FewIDs says which bits a valid layout should give to its sequence, or "" if it has at least 32 ids
// in each tick of 1 ms, or 10,000 a second.
func FewIDs(l snowflake.Layout) string {
	l = l.WithDefaults()
	least := int64(32)
	if l.TimeUnit > time.Millisecond {
		least = int64(10_000 * l.TimeUnit / time.Second)
	}
	missing := bits.Len64(uint64(least-1)) - int(l.SequenceBits)
	if missing <= 0 {
		return ""
	}
	from, has := "worker", int(l.WorkerBits)
	if int(l.BusinessBits) > has {
		from, has = "business", int(l.BusinessBits)
	}
	advice := "use shorter ticks, or give bits of the time to the sequence"
	if has > missing {
		advice = fmt.Sprintf("set %s bits to %d and sequence bits to %d", from, has-missing, int(l.SequenceBits)+missing)
	}
	return fmt.Sprintf("only %d ids in %v for each worker id: %s", l.PerTick(), l.TimeUnit, advice)
}

// Business checks the number against the layout.
func (c Check) Business(business int64, l snowflake.Layout) {
	if n := int64(1) << l.BusinessBits; business < 0 || business >= n {
		c.Add(c.Name("Business"), business, "is not 0 to %d, the range of the layout's %d business bits", n-1, l.BusinessBits).
			Do("give a number in that range, or raise %s", c.Name("Layout.BusinessBits"))
	}
}

// MaxAhead returns d, or 0 if it is faulty. 0 means the default.
func (c Check) MaxAhead(d time.Duration, l snowflake.Layout) time.Duration {
	least := 2 * l.TimeUnit
	if most := max(time.Hour, least); d != 0 && (d < least || d > most) {
		c.Add(c.Name("MaxAhead"), d, "is not from 2 time units of the layout (%v) to %v", least, most)
		return 0
	}
	return d
}

// Reserved returns the size of the pool.
func (c Check) Reserved(reserved int64, l snowflake.Layout) (pool int64) {
	all := l.Workers()
	if reserved < 0 || reserved >= all {
		c.Add(c.Name("Reserved"), reserved, "is not 0 to %d, one less than the layout's worker ids", all-1)
		return all
	}
	return all - reserved
}

// Wait checks the duration.
func (c Check) Wait(d time.Duration) {
	if d < 0 {
		c.Add(c.Name("Wait"), d, "is negative").Do("give a duration such as 10s")
	} else {
		c.Millis("Wait", d)
	}
}

// TTL checks both durations. It returns ttl, or its default if it is faulty.
func (c Check) TTL(ttl, maxTTL time.Duration, l snowflake.Layout) time.Duration {
	good := ttl
	if least := 10 * l.TimeUnit; !c.Millis("TTL", ttl) {
		good = lease.DefaultTTL
	} else if ttl < lease.MinTTL || ttl < least {
		c.Add(c.Name("TTL"), ttl, "is too short").Do("give at least %v and 10 time units of the layout (%v)", lease.MinTTL, least)
		good = lease.DefaultTTL
	}
	if maxTTL < ttl || maxTTL > 24*time.Hour {
		c.Add(c.Name("MaxTTL"), maxTTL, "is not from %s (%v) to 24h", c.Name("TTL"), ttl).Do("choose a value in that range for all members of the namespace")
	}
	c.Millis("MaxTTL", maxTTL)
	return good
}

// Skew checks the duration against the TTL.
func (c Check) Skew(skew, ttl time.Duration) {
	switch half := ttl / 2; {
	case skew == lease.DefaultSkew && skew > half:
		c.Add(c.Name("TTL"), ttl, "is less than twice %s (%v, the default)", c.Name("Skew"), skew).
			Do("raise it, or set %s to at most %v in all members of the namespace", c.Name("Skew"), half)
	case skew < 0 || skew > half:
		c.Add(c.Name("Skew"), skew, "is not from 0 to half of %s (%v)", c.Name("TTL"), half).Do("lower it, or raise %s", c.Name("TTL"))
	}
	c.Millis("Skew", skew)
}

// Millis reports whether d is in whole milliseconds, and adds a fault unless it is.
func (c Check) Millis(field string, d time.Duration) bool {
	if d%time.Millisecond == 0 {
		return true
	}
	c.Add(c.Name(field), d, "is finer than a millisecond").Do("give whole milliseconds; a number without a unit is nanoseconds")
	return false
}
