package redisconn

import (
	"context"
	"fmt"
	"slices"

	"github.com/snowlease/snowlease/internal/bounded"

	"github.com/redis/go-redis/v9"
)

// A Call is a call of a script, which go-redis may run twice.
type Call struct {
	Verb, Name string // for errors
	Script     *redis.Script
	Keys       []string
	Args       []any
	Waits      bool              // whether Conn.Replicas must acknowledge its writes
	Remedy     string            // for damaged keys
	Answer     func(Reply) error // the error that corresponds to a reply, or nil if unknown
	Passes     []string          // verdicts that Run returns in addition to OK
}

// Run runs a script and returns its reply if the verdict is OK or in Passes. It returns errors of
// Answer unchanged, and adds verb, name and server to others.
//
// It returns when ctx ends, even if the client's call does not.
func (c *Conn) Run(ctx context.Context, call Call) (Reply, error) {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	out, err := within(ctx, func() (out answered, err error) {
		if call.Waits && c.Replicas > 0 {
			out, err = c.runAndWait(ctx, call.Script, call.Keys, call.Args)
		} else {
			// Run sends EVALSHA, and EVAL if the server does not have the script.
			out.reply, err = call.Script.Run(ctx, c.server(), call.Keys, call.Args...).Result()
		}
		c.refresh(ctx, err)
		return out, err
	})
	if err != nil {
		return nil, c.Wrap(call.Verb, call.Name, c.translate(err, call.Remedy))
	}
	r, err := parse(out.reply)
	switch {
	case err != nil:
	case slices.Contains(call.Passes, r[0]):
	case r[0] != "OK":
		if answer := call.Answer(r); answer != nil {
			return nil, answer
		}
		err = r.fault()
	case call.Waits && out.replicas < int64(c.Replicas):
		err = fmt.Errorf("%w: %d of %d", ErrNotReplicated, out.replicas, c.Replicas)
	}
	if err != nil {
		return nil, c.Wrap(call.Verb, call.Name, err)
	}
	return r, nil
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
