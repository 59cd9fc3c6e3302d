// Package settings checks the settings of a worker for packages snowlease and idworker, which
// name them differently.
package settings

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Check adds problems to a list. Name returns the name of a setting in errors, given its field
// in snowlease.Config.
type Check struct {
	*fault.List
	Name func(field string) string
}

// Namespace checks the name.
func (c Check) Namespace(ns string) {
	name := c.Name("Namespace")
	if ns == "" {
		c.Check(name, nil, true, `is empty: name the service, such as "orders"; all its replicas use the same namespace`)
		return
	}
	c.Check(name, ns, lease.CheckNamespace(ns) != nil, "is not a valid name: give 1 to %d characters of A-Z a-z 0-9 . _ -", lease.MaxNamespace)
}

// Holder checks the length.
func (c Check) Holder(holder string) {
	c.Check(c.Name("Holder"), holder, len(holder) > lease.MaxHolder, "has %d bytes: give at most %d", len(holder), lease.MaxHolder)
}

// Layout returns l with defaults applied, or the default layout if l is invalid.
func (c Check) Layout(l snowflake.Layout) snowflake.Layout {
	l = l.WithDefaults()
	if err := cmp.Or(l.Validate(), l.CheckTime(time.Now())); err != nil {
		c.Take(err, func(string) string { return c.Name("Layout") })
		return snowflake.Layout{}.WithDefaults()
	}
	return l
}

// FewIDs returns advice on the bits of a valid layout's sequence, or "" if the layout has at
// least 32 ids in each tick of 1 ms, or 10,000 a second.
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
	n := int64(1) << l.BusinessBits
	c.Check(c.Name("Business"), business, business < 0 || business >= n, "is not 0 to %d, the range of the layout's %d business bits: give a number in that range, or raise %s",
		n-1, l.BusinessBits, c.Name("Layout.BusinessBits"))
}

// MaxAhead returns d, or 0, which means the default, if d is invalid.
func (c Check) MaxAhead(d time.Duration, l snowflake.Layout) time.Duration {
	least := 2 * l.TimeUnit
	most := max(time.Hour, least)
	if d == 0 || d >= least && d <= most {
		return d
	}
	c.Check(c.Name("MaxAhead"), d, true, "is not from 2 time units of the layout (%v) to %v", least, most)
	return 0
}

// Reserved returns the size of the pool.
func (c Check) Reserved(reserved int64, l snowflake.Layout) (pool int64) {
	all := l.Workers()
	if reserved < 0 || reserved >= all {
		c.Check(c.Name("Reserved"), reserved, true, "is not 0 to %d, one less than the layout's worker ids", all-1)
		return all
	}
	return all - reserved
}

// Workers returns the first and the last worker id of a range such as "0-15"; "" means all. The
// worker ids from pool on are reserved: a range contains all of them or none.
func (c Check) Workers(text string, pool int64, l snowflake.Layout) (first, last int64) {
	top := l.Workers() - 1
	if text == "" {
		return 0, top
	}
	name := c.Name("Workers")
	a, b, _ := strings.Cut(text, "-")
	first, err := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	last, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	bad := err != nil || err2 != nil || last < first || first >= pool || last > top
	c.Check(name, text, bad, `is not a range of worker ids: give the first and the last, both from 0 to %d, such as "0-%d"`, pool-1, (pool-1)/2)
	c.Check(name, text, !bad && last >= pool && last < top,
		"ends among the reserved worker ids, %d to %d: let it end at %d to leave them out, or at %[2]d to make backdated ids here", pool, top, pool-1)
	return first, last
}

// Wait checks the duration.
func (c Check) Wait(d time.Duration) {
	c.Check(c.Name("Wait"), d, d < 0, "is negative: give a duration such as 10s")
	c.Millis(c.Name("Wait"), max(d, 0))
}

// TTL checks both durations. It returns ttl, or the default if ttl is invalid.
func (c Check) TTL(ttl, maxTTL time.Duration, l snowflake.Layout) time.Duration {
	name, least := c.Name("TTL"), 10*l.TimeUnit
	whole, short := c.Millis(name, ttl), ttl < lease.MinTTL || ttl < least
	c.Check(name, ttl, whole && short, "is too short: give at least %v and 10 time units of the layout (%v)", lease.MinTTL, least)
	c.Check(c.Name("MaxTTL"), maxTTL, maxTTL < ttl || maxTTL > 24*time.Hour, "is not from %s (%v) to 24h: choose a value in that range for all members of the namespace", name, ttl)
	c.Millis(c.Name("MaxTTL"), maxTTL)
	if !whole || short {
		return lease.DefaultTTL
	}
	return ttl
}

// Skew checks the duration against the TTL.
func (c Check) Skew(skew, ttl time.Duration) {
	name, half := c.Name("Skew"), ttl/2
	short := skew == lease.DefaultSkew && skew > half
	c.Check(c.Name("TTL"), ttl, short, "is less than twice %s (%v, the default): raise it, or set %[1]s to at most %[3]v in all members of the namespace", name, skew, half)
	c.Check(name, skew, !short && (skew < 0 || skew > half), "is not from 0 to half of %s (%v): lower it, or raise %[1]s", c.Name("TTL"), half)
	c.Millis(name, skew)
}
