package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/numbers"
)

const remedy = "insert in a start hook or later, not in fx.Invoke or a constructor, and list idworker.GORM before every module that writes, so that the worker starts before them and stops after them"

// reserve returns a batch with n ids of one reservation, with a list unless it is of a single struct
// in a statement without clauses. The statement keeps the batch until its end.
func (p *plugin) reserve(db *gorm.DB, k *key, n int, single bool) (*batch, error) {
	if n > 0 && k.err != nil {
		return nil, k.err
	}
	b := newBatch(db.Statement, k, n, single)
	b.stmt.Context = b
	if n == 0 {
		return b, nil
	}
	k.warn(db)
	ids := b.id[:]
	if n > 1 {
		ids = b.ids
	}
	err := p.await(b, ids)
	if err == nil {
		return b, k.holds(ids)
	}
	early := errors.Is(err, generator.ErrNotStarted) || errors.Is(err, generator.ErrClosed) || errors.Is(err, numbers.ErrClosed)
	// An error with a second cause, such as a quarantine, is not about the order of modules.
	if caused := new(interface{ Unwrap() []error }); early && !errors.As(err, caused) {
		err = fmt.Errorf("%w (%s)", err, remedy)
	}
	return nil, fmt.Errorf("gormplugin: no ids for %d rows of %s: %w", n, db.Statement.Schema, err)
}

// holds returns an error if a number is too large for the key or its column.
func (k *key) holds(numbers []int64) error {
	if k.most == math.MaxInt64 {
		return nil
	}
	if high := slices.Max(numbers); high > k.most {
		return k.fault("it holds %d at most, and the number is %d; make it int64 and the column BIGINT or text of 19 characters, or give the segment a Max", k.most, high)
	}
	return nil
}

// await gets ids within Config.Wait. It checks the parent context first, because a
// source with available ids does not.
func (p *plugin) await(b *batch, ids []int64) error {
	parent, ctx := b.Context, (*waiting)(b)
	if err := parent.Err(); err != nil {
		return err
	}
	defer func() { // ends a wait that has begun
		if t := ctx.timer.Load(); t != nil {
			t.cancel()
		}
	}()
	err := b.key.gen.NextIDs(ctx, ids)
	ended := parent.Err()
	if err != nil && ended == nil && ctx.Err() != nil {
		ended = p.waited
	}
	if err != nil && ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// waiting is a batch as the context that ends after Config.Wait. It starts its timer at the first
// call of a method; a source with available ids calls none.
type waiting batch

// A timer is the context of a wait that has begun.
type timer struct {
	context.Context //nolint:containedctx // a timer is a context
	cancel          context.CancelFunc
}

func (w *waiting) begin() context.Context {
	if w.timer.Load() == nil {
		t, p := new(timer), w.key.plugin
		t.Context, t.cancel = context.WithTimeoutCause(w.Context, p.cfg.Wait, p.waited)
		if !w.timer.CompareAndSwap(nil, t) {
			t.cancel()
		}
	}
	return w.timer.Load().Context
}

func (w *waiting) Deadline() (time.Time, bool) { return w.begin().Deadline() }
func (w *waiting) Done() <-chan struct{}       { return w.begin().Done() }
func (w *waiting) Err() error                  { return w.begin().Err() }
func (w *waiting) Value(k any) any             { return w.begin().Value(k) }
