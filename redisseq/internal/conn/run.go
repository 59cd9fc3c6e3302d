package conn

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A Call is one run of a script, which may run twice.
type Call struct {
	Verb, Name string // for errors
	Script     *redis.Script
	Keys       []string
	Args       []any
	Waits      bool   // for as many replicas as Conn.Replicas to have what it wrote
	Remedy     string // of damaged keys
	// Answer tells a reply other than OK: done, with the error that it stands for or
	// nil. Whatever is not done is a fault.
	Answer func(Reply) (done bool, err error)
}

// Run runs a script and returns its reply if that is OK or an answer, with the answer's
// error as it is. Other errors have verb, name and server.
//
// It returns when ctx ends, even where the client's settings let the call go on.
func (c *Conn) Run(ctx context.Context, call Call) (Reply, error) {
	out, err := within(ctx, func() (out answered, err error) {
		if call.Waits && c.Replicas > 0 {
			out, err = c.runAndWait(ctx, call.Script, call.Keys, call.Args)
		} else {
			// EVALSHA, and EVAL where the server does not know the script.
			out.reply, err = call.Script.Run(ctx, c.client, call.Keys, call.Args...).Result()
		}
		c.refresh(ctx, err)
		return out, err
	})
	if err != nil {
		return nil, c.Wrap(call.Verb, call.Name, translate(err, call.Remedy))
	}
	r, err := parse(out.reply)
	switch {
	case err != nil:
	case r[0] != "OK":
		if done, answer := call.Answer(r); done {
			return r, answer
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

// within returns what call returns, or the context's error when it ends before. call
// then goes on, at most as long as the client's timeouts allow: its context has
// ended, so it is not repeated.
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
