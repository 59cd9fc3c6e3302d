package redisconn

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/lease"
)

// A Call is a call of a script, which go-redis may run twice.
type Call struct {
	Verb, Name string // for errors
	Script     *redis.Script
	Keys       []string
	Args       []any             // from ARGV[3] on: see prelude.lua
	Shows      bool              // whether it writes nothing, so that a replica may run it
	Waits      bool              // whether Conn.Replicas must acknowledge its writes
	Remedy     string            // for damaged keys
	Answer     func(Reply) error // the error that corresponds to another verdict than OK, or nil if unknown
	Read       func(Reply) error // reads a reply with the verdict OK
}

// Run runs a script and reads its reply. It returns errors of Answer unchanged, and adds verb, name
// and server to others, and the remedy if they are lease.ErrDamaged.
//
// It returns when ctx ends, even if the client's call does not.
func (c *Conn) Run(ctx context.Context, call Call) error {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	out := c.ask(ctx, call)
	var r Reply
	err := out.err
	if err != nil {
		err = c.translate(err)
	} else {
		r, err = parse(out.reply)
	}
	switch {
	case err != nil:
	case r[0] == "NORUNID":
		err = ErrRunID
	case r[0] != "OK":
		if answer := call.Answer(r); answer != nil {
			return answer
		}
		err = r.Unknown()
	case call.Waits && out.replicas < int64(c.Replicas):
		err = fmt.Errorf("%w: %d of %d", ErrNotReplicated, out.replicas, c.Replicas)
	default:
		err = call.Read(r)
	}
	if errors.Is(err, lease.ErrDamaged) {
		err = fmt.Errorf("%w: %s", err, call.Remedy)
	}
	return c.Wrap(call.Verb, call.Name, err)
}

// answered is the reply of a script and the number of replicas that acknowledged its writes.
type answered struct {
	reply    any
	replicas int64
	err      error
}

// ask sends a script. If ctx ends first, the client's call continues until its timeouts. go-redis
// does not repeat it, because its context has ended.
func (c *Conn) ask(ctx context.Context, call Call) (out answered) {
	args := append([]any{!c.Durable, !call.Shows}, call.Args...)
	done := make(chan answered, 1)
	go func() {
		c.calls.RLock()
		var out answered
		if call.Waits && c.Replicas > 0 {
			out = c.runAndWait(ctx, call.Script, call.Keys, args)
		} else {
			// Run sends EVALSHA, and EVAL if the server does not have the script.
			out.reply, out.err = call.Script.Run(ctx, c.server(), call.Keys, args...).Result()
		}
		c.calls.RUnlock()
		c.refresh(ctx, out.err)
		done <- out
	}()
	select {
	case out = <-done:
		if out.err != nil && ctx.Err() != nil {
			out.err = fmt.Errorf("%w: %w", ctx.Err(), out.err)
		}
	case <-ctx.Done():
		out.err = ctx.Err()
	}
	return out
}
