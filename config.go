package snowlease

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/settings"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Config configures a Worker. A zero field means its default. The namespace pins some values: all
// members must agree on them, and the center refuses a member that does not.
type Config struct {
	// Namespace names the service whose replicas share one pool of worker ids: 1 to 64
	// characters of A-Z a-z 0-9 . _ - . Required.
	Namespace string
	// Layout is the layout of the ids. The namespace pins it. Default: the default layout of
	// package snowflake.
	Layout snowflake.Layout
	// Workers is the range of worker ids that this process may borrow, such as "0-15". With disjoint
	// ranges, two centers can serve one stream of ids. Default: all worker ids of the pool.
	Workers Workers
	// Reserved is the number of the highest worker ids to keep out of the pool, such as for package
	// history. The namespace pins the number of worker ids that remain. Default: 0.
	Reserved int64
	// Business is the business number that ids carry if the layout has business bits: 0 to
	// 2^BusinessBits - 1. Worker.For issues ids with other numbers. Default: 0.
	Business int64
	// MaxAhead is how far a burst of ids may run ahead of the clock. The range is 2 time units of
	// the layout to the larger of 1h and 2 time units. Default: the larger of 1s and 2 time units.
	MaxAhead time.Duration
	// Wait is how long a start waits for a free worker id, for a center that is down, or for the end
	// of a quarantine, in whole milliseconds. The context of the start may end sooner. Default: 10s.
	Wait time.Duration
	// Holder describes the process that holds a worker id to people, in at most 255 bytes. Default:
	// program@host:pid.
	Holder string
	// TTL is how long a lease lasts without renewal. Ids continue for that long while the center is
	// unreachable, and a crashed process keeps its worker id for that long. 100ms to MaxTTL in whole
	// milliseconds, and at least 10 time units of the layout. Default: 30s.
	TTL time.Duration
	// MaxTTL is the longest lease that a loss of records allows for. It also bounds how far ids run
	// ahead after a loss: see ExactTimes. The namespace records the greatest MaxTTL of any process,
	// which then applies to all. If a process raises it, leases keep their previous length for about
	// the previous MaxTTL + Skew. TTL to 24h in whole milliseconds. Default: the larger of TTL and
	// 30s.
	MaxTTL time.Duration
	// Skew bounds how far the center's clock may have gone backward when the center loses records:
	// how far it is behind the latest time that it ever showed. The namespace records the greatest
	// Skew of any process. The leases of a process with less are longer by the difference, within
	// MaxTTL. Whole milliseconds, at most half of TTL. Default: 2s, so set it if TTL is below 4s.
	Skew time.Duration
	// ExactTimes decides what happens when the center may have forgotten the holders of worker ids:
	// at the first start in a namespace, and after a wipe or a failover. If false, the center leases
	// again after Skew and a quarter of a second, and ids carry times up to MaxTTL ahead until the
	// clock catches up. If true, the center leases nothing for MaxTTL + Skew, and a start fails if
	// Wait is shorter. Default: false.
	ExactTimes bool
	// Schedule adds renewals to the ones that the lease needs, one every third of TTL. Next returns
	// the next time after t, or the zero time for never. Schedules of robfig/cron implement it.
	// Default: every 10 seconds.
	Schedule interface {
		Next(t time.Time) time.Time
	}
	// OnLost is called after each loss of a lease, while the worker borrows another worker
	// id. It must not block, and must not call the worker. Default: none.
	OnLost func(cause error)
	// Logger receives one line for each change of state; docs/design/log.md lists the events. Its
	// handler must not block, and must not call the worker. Default: nothing is logged.
	Logger *slog.Logger
}

// Workers is a range of worker ids: the first and the last, separated by a hyphen, such as "0-15".
// It contains all worker ids of Config.Reserved, which are never leased, or none of them. "" means
// all worker ids.
type Workers string

func (c Config) withDefaults() Config {
	c.Wait = cmp.Or(c.Wait, keeper.DefaultWait)
	c.Holder = cmp.Or(c.Holder, keeper.DefaultHolder())
	c.TTL = cmp.Or(c.TTL, lease.DefaultTTL)
	c.MaxTTL = cmp.Or(c.MaxTTL, max(c.TTL, lease.DefaultTTL))
	c.Skew = cmp.Or(c.Skew, lease.DefaultSkew)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// itself returns field unchanged, as its name in errors.
func itself(field string) string { return field }

// plan returns c with defaults applied, and the request for its lease. It replaces an invalid
// field by its default, so that it also finds the problems of other fields. If leased is false,
// it does not check the fields that concern a lease.
func (c Config) plan(f *fault.List, name func(field string) string, leased bool) (Config, lease.Request) {
	c = c.withDefaults()
	check := settings.Check{List: f, Name: name}
	check.Namespace(c.Namespace)
	check.Holder(c.Holder)
	c.Layout = check.Layout(c.Layout)
	check.Business(c.Business, c.Layout)
	c.MaxAhead = check.MaxAhead(c.MaxAhead, c.Layout)
	check.Wait(c.Wait)
	if leased {
		c.TTL = check.TTL(c.TTL, c.MaxTTL, c.Layout)
		check.Skew(c.Skew, c.TTL)
	}
	pool := check.Reserved(c.Reserved, c.Layout)
	first, last := check.Workers(string(c.Workers), pool, c.Layout)
	return c, lease.Request{
		Namespace: c.Namespace, Layout: c.Layout.String(), Holder: c.Holder, Owner: lease.NewOwner(),
		Pool: pool, First: first, Last: min(last, pool-1), TTL: c.TTL, MaxTTL: c.MaxTTL, Skew: c.Skew,
	}
}
