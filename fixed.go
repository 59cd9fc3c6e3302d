package snowlease

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/source"
	"github.com/snowlease/snowlease/lease"
)

// Fixed returns a worker with the given worker id, for tests and laptops. It has no center, so
// ids are unique only if no other worker has that worker id, in this process or another, and if
// the host's clock does not step back across a restart. Ids follow a monotonic clock from the start
// on, so their times are late by as long as a laptop slept. A burst may run ahead by the larger of a
// second and two ticks. Close waits until the clock has passed the last id, so that the next worker
// issues no duplicates, and returns an error if that takes more than 5 s. After a crash, wait that long.
//
// Fixed uses only the Layout, Business, MaxAhead, Holder, Logger and Namespace of cfg. Namespace
// is "local" by default. Errors: an error that joins all problems of these fields, or a worker id
// outside the layout.
func Fixed(worker int64, cfg Config) (*Worker, error) {
	cfg.Namespace, cfg.Layout = cmp.Or(cfg.Namespace, "local"), cfg.Layout.WithDefaults()
	w, err := New(source.With[Status]{Setup: source.Setup[Status]{Source: fixed{newGenerator(cfg), worker}}}, cfg)
	if err != nil {
		return nil, err
	}
	return w, w.Start(context.Background())
}

// fixed issues ids under a given worker id, without a center.
type fixed struct {
	generated
	worker int64
}

func (f fixed) Start(context.Context) ([]any, error) {
	f.gen.Resume()
	now := time.Now().UnixMilli()
	_, err := f.gen.Adopt(generator.Range{
		Worker: f.worker, Floor: now - 1, Ceiling: f.gen.Layout().Ends().UnixMilli() - 1, Now: now, At: f.gen.Elapsed(),
	})
	return nil, err
}

// Close waits until the clock has passed the last id.
func (f fixed) Close() error {
	last := time.UnixMilli(f.gen.Stop() + 1)
	time.Sleep(min(time.Until(last), maxClose))
	if time.Until(last) > 0 {
		return fmt.Errorf("snowlease: fixed: the last id is ahead of the clock: start no worker with this worker id before %s", last.Add(time.Second).UTC().Format(time.RFC3339))
	}
	return nil
}

// maxClose is how long Worker.Close may take.
const maxClose = 5 * time.Second

func (fixed) Reset(context.Context) error { return errCopies }

func (fixed) Explain(err error) error { return err }

func (f fixed) Report(st *Status) {
	st.Worker = f.worker
	f.report(st)
}

func (fixed) Extras() lease.Extras { return lease.Extras{Name: "fixed"} }
