package idworker

import (
	"context"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// fixed issues ids under a given worker id, without a center.
type fixed struct {
	generated
	worker int64
}

func newFixed(p plan) (fixed, error) {
	gen, err := snowflake.NewGenerator(p.layout, p.options...)
	return fixed{generated{gen}, *p.Local.Worker}, err
}

func (f fixed) start(context.Context) ([]any, error) {
	now := time.Now().UnixMilli()
	_, err := f.gen.Adopt(snowflake.Range{
		Worker: f.worker, Floor: now - 1, Ceiling: f.gen.Layout().Ends().UnixMilli() - 1, Now: now, At: f.gen.Elapsed(),
	})
	return nil, err
}

func (f fixed) stop(context.Context) error {
	f.gen.Stop()
	return nil
}

func (fixed) reset(context.Context) error { return errCopies }

func (fixed) explain(err error) error { return advise(err) }

func (fixed) lent() error { return nil }

func (f fixed) status(st *Status) {
	st.Worker = f.worker
	f.generated.status(st)
}

func (fixed) extras() lease.Extras { return lease.Extras{Name: "fixed"} }
