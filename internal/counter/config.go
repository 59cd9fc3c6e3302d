package counter

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Config is the configuration of a Counter; package idworker documents and checks its fields. A zero
// field means its default. Layout, Worker, MaxAhead and Skew are pinned: all members of the
// namespace must agree on them.
type Config struct {
	Namespace string // names the sequence, which the replicas of one or several services share. Required
	Layout    snowflake.Layout
	Worker    int64
	MaxAhead  time.Duration // default: the larger of 1s and 2 time units of the layout
	Skew      time.Duration // default: 2s
	Prefetch  int64         // default: 4096
	// MaxAge is measured from the call that reserves an id. Older ids are dropped, so a Redis that
	// takes longer to reply yields none. Default: 1s.
	MaxAge time.Duration
	// ExactTimes keeps ids from running ahead of the clock after a loss of records and in a new
	// namespace. Ids wait until the clock of Redis has passed every time that may have been
	// forgotten: MaxAhead, one tick and Skew. If false, they wait for Skew and up to a tick, and lie
	// MaxAhead above the clock. The first member without it ends the wait for all.
	ExactTimes bool
	// Logger gets a warning when Redis starts to fail, a warning when a quarantine starts, and a
	// line when ids are issued again. The quarantine of a new namespace, for which Start waits, is
	// not a warning. Nil disables logging.
	Logger *slog.Logger
}

// Defaults of a Config.
const (
	DefaultPrefetch = 4096
	DefaultMaxAge   = time.Second
)

// WithDefaults returns c with defaults for its zero fields.
func (c Config) WithDefaults() Config {
	c.Layout = c.Layout.WithDefaults()
	c.MaxAhead = cmp.Or(c.MaxAhead, max(generator.DefaultMaxAhead, 2*c.Layout.TimeUnit))
	c.Skew = cmp.Or(c.Skew, lease.DefaultSkew)
	c.Prefetch = cmp.Or(c.Prefetch, DefaultPrefetch)
	c.MaxAge = cmp.Or(c.MaxAge, DefaultMaxAge)
	return c
}

// MaxCall is the largest number of values that one call requests.
const MaxCall = 1 << 20

// ahead returns MaxAhead in ticks.
func (c Config) ahead() int64 { return int64(c.MaxAhead / c.Layout.TimeUnit) }

// pin returns the settings that all members of a namespace must agree on.
func (c Config) pin() string {
	return fmt.Sprintf("layout={%s} worker=%d max_ahead=%v skew=%v",
		c.Layout, c.Worker, time.Duration(c.ahead())*c.Layout.TimeUnit, c.Skew)
}
