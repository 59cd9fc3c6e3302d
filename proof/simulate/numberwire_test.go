package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/numbers"
)

// database returns a SQL store behind the network.
func (b *issuer) database() remote {
	center, err := dbseq.New(b.n.sql.pool, dbseq.SQLite)
	b.w.fail(err)
	return remote{center.Numbers(), b}
}

type remote struct {
	numbers.Store
	b *issuer
}

func (r remote) Reserve(ctx context.Context, req numberstore.Request) (numberstore.Range, error) {
	return exchange(ctx, r.b.process, r.b.sql, "sql", func(ctx context.Context) (numberstore.Range, error) {
		got, err := r.Store.Reserve(ctx, req)
		r.b.event(sqlRequestLane, Event{What: "sql", Note: kindOf(err)})
		return got, err
	})
}

// patient removes the randomness of an Issuer's retries, which no seed could repeat:
// it delays a call to the latest moment that the Issuer could choose.
type patient struct {
	numbers.Store
	b     *issuer
	delay time.Duration
	next  time.Duration
}

func (s *patient) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	if err := s.b.waits(ctx, retryLane, s.next); err != nil {
		return numberstore.Range{}, err
	}
	ctx, cancel := s.b.within(ctx, 1900*time.Millisecond, 1) // before the Issuer's own deadline
	defer cancel()
	got, err := s.Store.Reserve(ctx, r)
	if err == nil || s.b.n.Strict { // callers retry without randomness
		s.delay, s.next = 0, 0
		return got, err
	}
	s.delay = min(max(2*s.delay, 50*time.Millisecond), 2*time.Second)
	s.next = s.b.w.now() + s.delay*3/2
	return got, err
}

// commands puts a Redis client behind the network.
func (b *issuer) commands(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		script, ok := cmd.(*redis.Cmd)
		if !ok || ctx.Value(passageKey{}) != nil { // the command opens a connection
			return next(ctx, cmd)
		}
		reply, err := b.call(ctx, cmd.Args(), next)
		if err != nil {
			cmd.SetErr(err)
			return err
		}
		script.SetVal(reply)
		return nil
	}
}

// noScript is the answer of a server that does not know a script.
type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT No matching script" }
func (noScript) RedisError()   {}

// call executes a script.
func (b *issuer) call(ctx context.Context, args []any, next redis.ProcessHook) (any, error) {
	if change := b.n.Script; change != nil {
		switch args[0] {
		case "evalsha": // sent by the product, which then sends the script as a whole
			return nil, noScript{}
		case "eval":
			args[1] = change(args[1].(string))
		}
	}
	// A Sequence only asks for the state of Redis, without the bound on the clock that a start sends.
	// The times of such calls cannot be repeated, and no id depends on them.
	if len(args) >= 12 && args[7] == int64(0) && args[11] == int64(0) {
		return nil, errNetwork
	}
	way := b.net
	if len(args) > 6 && args[6] == "install" { // by a Dispenser, in the background
		way = b.install
	}
	b.w.mu.Lock()
	b.calls++
	call := b.calls
	b.w.mu.Unlock()
	reply, err := exchange(ctx, b.process, way, "redis", func(ctx context.Context) (any, error) {
		cmd := redis.NewCmd(ctx, args...)
		err := Step(ctx, func() error { return next(inside(ctx), cmd) })
		b.event(way.there, Event{What: "redis", Note: kindOf(err)})
		if n := given(cmd); n != nil && b.n.Source == RedisSegments {
			b.n.gave(n[1])
		}
		return cmd.Val(), err
	})
	if n := given(redis.NewCmdResult(reply, err)); n != nil && n[2] > 0 && b.n.Source == Sequence {
		b.got(reservation{first: n[0]<<b.n.seqBits() | n[1], n: n[2]}, call)
	}
	return reply, err
}

// given returns the numbers in a script's reply, or nil if there are none.
func given(cmd *redis.Cmd) []int64 {
	reply, err := cmd.StringSlice()
	if err != nil || len(reply) < 3 || reply[0] != "OK" {
		return nil
	}
	n := make([]int64, 3)
	for i := range min(len(n), len(reply)-1) {
		if _, err := fmt.Sscan(reply[i+1], &n[i]); err != nil {
			return nil
		}
	}
	return n
}
