// Package counter issues ids that are counted in Redis, so that any number of processes
// can share one worker id: mode redis-sequence of package idworker. See Counter. It shares
// clients, options and errors with package redisseq.
package counter

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/prefetch"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

//go:embed *.lua
var files embed.FS

var script = redisconn.Script(files, "counter.lua")

// A Counter issues ids whose tick and sequence are counted in Redis, so that any number
// of processes can share one worker id. All methods are safe for concurrent use. It issues
// ids from Start to Close.
//
// Use it if ids must ascend across processes, or if there are more processes than worker ids.
// Otherwise lease a worker id: ids then need no round trip, are many times faster, and continue
// during an outage of Redis.
//
// # Order
//
// If Prefetch is 1, each call runs a script once. An id requested after another was returned, by
// any process, is greater.
//
// Otherwise a process reserves blocks of ids in the background, one call for each block. The size
// of the blocks follows the process's rate. Ids ascend within the process; across processes they
// can be out of order by up to MaxAge.
//
// # Uniqueness
//
// The key snowlease:{ns}:sequence, which has no TTL, holds the tick and sequence of the last id.
// The script reserves above it, up to MaxAhead above the clock of Redis (TIME). "Mode
// redis-sequence" in docs/design/protocol.md says why ids stay unique when the key or Redis is
// lost, and what can repeat them nevertheless. In the meantime, callers continue with reserved
// ids, for at most MaxAge.
type Counter struct {
	Stream                   // of business number 0
	of      *prefetch.Issuer // of values: tick<<SequenceBits | sequence
	conn    *redisconn.Conn
	call    redisconn.Call // without the fields that differ between calls
	cfg     Config         // with defaults applied
	seqBits uint
	tsShift uint
	seqMask int64
	worker  int64 // shifted into place
	last    int64 // greatest tick that the time field holds
	pin     string
	args    []any // the constant arguments of the script
	wall    func() time.Time
	calls   atomic.Int64
}

// New returns a Counter on client, with a valid Config. It does not connect; Start does. The caller
// closes the Counter, then client. New accepts the options and clients of redisseq.New, and returns
// its errors.
func New(client redis.UniversalClient, cfg Config, opts ...redisseq.Option) (*Counter, error) {
	k, err := redisconn.New(client, option.All[redisconn.Conn](opts))
	if err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	l := cfg.Layout
	_, last := l.Ticks(0, math.MaxInt64)
	last = min(last, 1e15) // the largest number that scripts handle exactly
	c := &Counter{
		conn: k, cfg: cfg,
		seqBits: uint(l.SequenceBits), tsShift: uint(l.WorkerBits + l.BusinessBits + l.SequenceBits), seqMask: l.PerTick() - 1,
		worker: cfg.Worker << (l.BusinessBits + l.SequenceBits), last: last, pin: cfg.pin(),
		args: []any{
			l.TickTime(0).UnixMicro(), l.TimeUnit.Microseconds(), last,
			l.PerTick(), int64(1) << max(0, min(8, int(l.SequenceBits)-2)), cfg.ahead(), cfg.Skew.Microseconds(), cfg.ExactTimes,
		},
		wall: time.Now,
	}
	key := k.Key(cfg.Namespace, "sequence")
	c.call = redisconn.Call{
		Verb: "sequence of", Name: cfg.Namespace, Script: script, Keys: []string{key},
		Remedy: "give the key " + key + " another prefix if it is not snowlease's; if it is, delete it and restart the processes: a quarantine follows",
	}
	c.of, c.Stream = prefetch.New(c.policy()), Stream{c: c}
	return c, nil
}

func (c *Counter) policy() prefetch.Policy {
	return prefetch.Policy{
		Strict: c.cfg.Prefetch == 1,
		Steps:  numberstore.Steps{Min: 1, Max: c.cfg.Prefetch, Cover: c.cfg.MaxAge / 8, Fresh: true}, Step: 1, Most: MaxCall,
		MaxAge:     c.cfg.MaxAge,
		Reserve:    func(ctx context.Context, n, above int64) (numberstore.Range, error) { return c.run(ctx, n, above, 0) },
		Final:      c.final,
		Retry:      time.Second,
		Changed:    c.logChange,
		Look:       true,
		NotStarted: generator.ErrNotStarted, Stopped: generator.ErrClosed, Late: c.wrap(errors.New("no reply in time")),
		Aged: c.wrap(fmt.Errorf("the reply took longer than max_age (%v), so the ids are dropped: raise max_age if Redis is always as slow", c.cfg.MaxAge)),
	}
}

// Start waits, within ctx, until the Counter can issue ids: for Redis, and for the end of a
// quarantine. It refuses a Redis whose clock differs from this host's by more than
// lease.MaxClockError. It reserves nothing. A second Start does nothing. After Close, Start
// starts the Counter again, with ids above all earlier ones.
//
// These errors are returned immediately: *lease.MismatchError, *lease.ClockError,
// lease.ErrDamaged, and errors that wrap lease.ErrSetup, such as a refused login or a clock of
// Redis outside the layout's time field. After other errors, such as a lost connection,
// Start tries again until ctx ends. After an error, call Start again or Close.
//
// If a quarantine lasts longer than ctx, Start returns *lease.QuarantineError, immediately if
// ctx has a deadline. The Counter has then started, and issues ids when the quarantine ends.
func (c *Counter) Start(ctx context.Context) error {
	c.of.Reopen()
	if c.of.Standing() == nil {
		return nil
	}
	return c.of.Try(ctx, func() error {
		err := c.of.Call(ctx, func() error {
			_, err := c.run(ctx, 0, 0, lease.MaxClockError)
			return err
		})
		if err == nil || errors.As(err, new(*lease.QuarantineError)) {
			if begun := c.of.Start(ctx); errors.Is(begun, generator.ErrClosed) {
				return begun
			}
		}
		return err
	})
}

// Close stops the Counter. It discards ids that are reserved but not issued, and closes the
// Counter's own client. A second Close does nothing.
func (c *Counter) Close() error {
	c.of.Close()
	return c.conn.Close()
}

// Reset discards the ids that are reserved ahead. Call it in a process that may have been copied
// with its memory: see snowlease.Worker.Reset. Calls in progress request ids again; if Prefetch
// is 1, only such calls hold ids.
func (c *Counter) Reset() { c.of.Reset() }
