package counter

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Config is the configuration of a Counter. Zero means the default. Layout,
// Worker, MaxAhead and Skew are pinned: all members of the namespace have the same.
type Config struct {
	// Namespace is what shares one sequence: the replicas of a service, or several
	// services. 1 to 64 characters of A-Z a-z 0-9 . _ - ; required.
	Namespace string
	// Layout is the layout of the ids. Default: that of package snowflake.
	Layout snowflake.Layout
	// Worker is the worker number that all ids carry, 0 to Layout.Workers()-1. No
	// other source of ids of the same layout may have it. Default: 0.
	Worker int64
	// MaxAhead is how far ids may run ahead of the clock of Redis: 2 time units of the
	// layout to 1h. Default: 1s, or 2 time units where that is more.
	MaxAhead time.Duration
	// Skew is how far the clock of Redis may be behind the latest time that it ever
	// showed when it loses records, by a failover for example. 1ms to 1h. Default: 2s.
	Skew time.Duration
	// Prefetch is the most ids that one call reserves ahead, 1 to 1,048,576; fewer at a
	// low rate. 1: none ahead, and ids rise across processes. Default: 4096.
	Prefetch int64
	// MaxAge is how long an id may lie reserved before it is issued; what is older is
	// dropped. It bounds how far ids are out of order across processes. 10ms to 1h.
	// Default: 1s.
	MaxAge time.Duration
	// ExactTimes has ids wait after a loss of records, and in a new namespace, until the
	// clock of Redis has passed all that may have been forgotten: MaxAhead, one tick and
	// Skew. Without it they wait for Skew and up to a tick, and lie MaxAhead above the
	// clock. It is not pinned; the first member without it ends the wait for all.
	ExactTimes bool
	// Logger gets one warning when Redis begins to fail, one when a quarantine is met,
	// one line when ids are issued again, none in between. Start waits for the first
	// quarantine of a namespace, and logs it so. Nil: nothing is logged.
	Logger *slog.Logger
}

// Defaults of a Config.
const (
	DefaultPrefetch = 4096
	DefaultMaxAge   = time.Second
)

// WithDefaults returns c with its zero fields filled in.
func (c Config) WithDefaults() Config {
	c.Layout = c.Layout.WithDefaults()
	c.MaxAhead = cmp.Or(c.MaxAhead, max(snowflake.DefaultMaxAhead, 2*c.Layout.TimeUnit))
	c.Skew = cmp.Or(c.Skew, lease.DefaultSkew)
	c.Prefetch = cmp.Or(c.Prefetch, DefaultPrefetch)
	c.MaxAge = cmp.Or(c.MaxAge, DefaultMaxAge)
	return c
}

// Validate reports every fault of c, defaults filled in, in one error, or nil. A
// layout that ends within a year is one.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("redisseq: sequence: "+format, args...))
	}
	if err := lease.CheckNamespace(c.Namespace); err != nil {
		errs = append(errs, err)
	}
	if err := c.Layout.Validate(); err != nil {
		return errors.Join(append(errs, err)...) // the rest is measured by it
	}
	if err := c.Layout.CheckTime(time.Now()); err != nil {
		errs = append(errs, err)
	}
	if c.Worker < 0 || c.Worker >= c.Layout.Workers() {
		fault("worker %d is not 0 to %d, which the layout's %d worker bits hold", c.Worker, c.Layout.Workers()-1, c.Layout.WorkerBits)
	}
	if c.MaxAhead < 2*c.Layout.TimeUnit || c.MaxAhead > max(time.Hour, 2*c.Layout.TimeUnit) {
		fault("max ahead %v is not 2 time units (%v) to 1h", c.MaxAhead, 2*c.Layout.TimeUnit)
	}
	if c.Skew < time.Millisecond || c.Skew > time.Hour {
		fault("skew %v is not 1ms to 1h", c.Skew)
	}
	if c.Prefetch < 1 || c.Prefetch > maxCall {
		fault("prefetch %d is not 1 to %d", c.Prefetch, maxCall)
	}
	if c.MaxAge < 10*time.Millisecond || c.MaxAge > time.Hour {
		fault("max age %v is not 10ms to 1h", c.MaxAge)
	}
	return errors.Join(errs...)
}

// maxCall is the most values that one call asks for.
const maxCall = 1 << 20

// ahead is MaxAhead in ticks.
func (c Config) ahead() int64 { return int64(c.MaxAhead / c.Layout.TimeUnit) }

// pin is what members of a namespace must agree on.
func (c Config) pin() string {
	return fmt.Sprintf("layout={%s} worker=%d max_ahead=%v skew=%v",
		c.Layout, c.Worker, time.Duration(c.ahead())*c.Layout.TimeUnit, c.Skew)
}
