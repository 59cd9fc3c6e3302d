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
	args := append([]any{!c.Durable, !call.Shows}, call.Args...)
	out, err := within(ctx, func() (out answered, err error) {
		if call.Waits && c.Replicas > 0 {
			out, err = c.runAndWait(ctx, call.Script, call.Keys, args)
		} else {
			// Run sends EVALSHA, and EVAL if the server does not have the script.
			out.reply, err = call.Script.Run(ctx, c.server(), call.Keys, args...).Result()
		}
		c.refresh(ctx, err)
		return out, err
	})
	var r Reply
	if err != nil {
		err = c.translate(err)
	} else {
		r, err = parse(out.reply)
	}
	switch {
	case err != nil:
	case r[0] != "OK":
		if answer := call.Answer(r); answer != nil {
			return answer
		}
		err = r.fault()
	case call.Waits && out.replicas < int64(c.Replicas):
		err = fmt.Errorf("%w: %d of %d", ErrNotReplicated, out.replicas, c.Replicas)
	default:
		err = call.Read(r)
	}
	if errors.Is(err, lease.ErrDamaged) {
		err = fmt.Errorf("%w: %s", err, call.Remedy)
	}
	if err != nil {
		err = c.Wrap(call.Verb, call.Name, err)
	}
	return err
}

// within returns the result of call, or ctx's error if ctx ends first. call then continues until
// the client's timeouts. go-redis does not repeat it, because its context has ended.
func within[T any](ctx context.Context, call func() (T, error)) (none T, err error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if r.err != nil && ctx.Err() != nil {
			return none, fmt.Errorf("%w: %w", ctx.Err(), r.err)
		}
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
