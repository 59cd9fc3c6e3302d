package takeover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate"
)

// A Report says what Take has found and done. Times are Unix milliseconds.
type Report struct {
	// Mark is the greatest of all old marks: no id of the old side lies above it.
	Mark int64
	// Floor is the least that new processes start above. At least Mark.
	Floor int64
	// Sealed is until when the old center lends none of its worker ids, by its clock.
	Sealed int64
	// Retired says that it never lends them again: the old namespace was retired.
	Retired bool
}

// LiveError is returned where a worker id is still lent, or an id of it may lie ahead
// of the clock: wait, or stop its process.
type LiveError struct {
	Side   string // old or new
	Worker int64
	Holder string // empty: given back, or not known
	// Until is when it is free unless its holder renews.
	Until time.Time
}

// Error names the worker id, its holder and what to do.
func (e *LiveError) Error() string {
	who := "is in use up to"
	if e.Holder != "" {
		who = fmt.Sprintf("is lent to %q until", e.Holder)
	}
	return fmt.Sprintf("takeover: worker id %d of the %s side %s %s: stop what runs there, or wait, and take over again; nothing was changed",
		e.Worker, e.Side, who, e.Until.UTC().Format(time.RFC3339Nano))
}

// Take hands the worker ids of the old side over to the new one when the last old
// process has stopped, so that new processes may borrow every worker id of the new
// side's Request. It borrows all worker ids of the old side, which shows that nobody
// has one, and keeps them from others up to Report.Sealed; waits until the new center's
// clock has passed all that was used; and raises the mark of every worker id of the
// new side above it. The new namespace must be open (Init), and none of the worker
// ids of next.Request lent. After an error it can be called again.
//
// Where old.Request is for the whole pool and the old center is a lease.Operator, as
// those of dbseq and redisseq are, the old namespace is retired at the end: a process that
// is started with the old configuration later is refused. Else it is refused until
// Sealed only, and Take can be called again then.
//
// ctx bounds the wait. Where it fails, the old side lends again.
//
// Errors: *LiveError; *lease.MismatchError where a side is not what its namespace
// has pinned, or where it was retired: if that names the new namespace, an earlier call
// whose answer was lost has done all; *lease.QuarantineError; migrate.ErrNoPlan where the layout changes and
// ids of the new one would lie among those of the old one.
func Take(ctx context.Context, old, next Side) (r Report, err error) {
	if err := errors.Join(old.check("old"), next.check("new")); err != nil {
		return r, err
	}
	held, err := old.seal(ctx, &r)
	if err != nil {
		return Report{}, errors.Join(err, old.unseal(ctx, held))
	}
	if err = next.raise(ctx, old, &r); err == nil {
		r.Sealed, err = old.sealed(ctx, held)
	}
	if err == nil {
		r.Retired, err = old.retire(ctx, next)
	}
	if err != nil {
		return Report{}, errors.Join(err, old.unseal(ctx, held))
	}
	return r, nil
}

// retire retires the namespace if no worker id of it is left out.
func (s Side) retire(ctx context.Context, next Side) (bool, error) {
	op, ok := s.Center.(lease.Operator)
	if !ok || s.Request.First > 0 || s.Request.Last < s.Request.Pool-1 {
		return false, nil
	}
	err := op.Retire(ctx, s.Request.Namespace, fmt.Sprintf("its worker ids were taken over by namespace %q of %s", next.Request.Namespace, lease.Name(next.Center)))
	if err != nil {
		return false, fmt.Errorf("takeover: %w", err)
	}
	return true, nil
}

// seal borrows all worker ids, so nobody else has one.
func (s Side) seal(ctx context.Context, r *Report) (held []lease.Grant, err error) {
	for w := s.Request.First; w <= s.Request.Last; w++ {
		g, err := s.borrow(ctx, "old", w)
		if err != nil {
			return held, err
		}
		held = append(held, g)
		r.Mark = max(r.Mark, g.Floor)
	}
	return held, nil
}

// sealed renews what is held, which shows that nobody else had it meanwhile, and
// returns until when nobody has.
func (s Side) sealed(ctx context.Context, held []lease.Grant) (until int64, err error) {
	for i, g := range held {
		if held[i], err = s.Center.Renew(ctx, g); err != nil {
			held[i] = g
			return 0, fmt.Errorf("takeover: worker id %d of the old side could not be kept meanwhile: take over again, with a longer TTL: %w", g.Worker, err)
		}
		if i == 0 || held[i].Ceiling < until {
			until = held[i].Ceiling
		}
	}
	return until, nil
}

// unseal gives worker ids back unused, also when ctx has ended.
func (s Side) unseal(ctx context.Context, held []lease.Grant) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var errs []error
	for _, g := range held {
		if err := s.Center.Release(ctx, g, g.Floor); err != nil && !errors.Is(err, lease.ErrLost) {
			errs = append(errs, fmt.Errorf("takeover: give worker id %d of the old side back, which is not lent for %v now: %w", g.Worker, s.Request.TTL, err))
		}
	}
	return errors.Join(errs...)
}

// raise lifts the marks of all worker ids to where the old side ended at least.
func (s Side) raise(ctx context.Context, old Side, r *Report) error {
	for w := s.Request.First; w <= s.Request.Last; {
		g, err := s.borrow(ctx, "new", w)
		if err != nil {
			return err
		}
		if w == s.Request.First && s.Layout.WithDefaults() != old.Layout.WithDefaults() {
			err = migrate.Follows(s.Layout, old.Layout, time.UnixMilli(max(g.Floor, r.Mark)+1))
		}
		if back := s.Center.Release(ctx, g, g.Floor); err != nil || back != nil {
			return errors.Join(err, back)
		}
		if g.Floor < r.Mark {
			// The new center's clock is behind.
			if err := sleep(ctx, time.Duration(r.Mark-g.Floor+1)*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		if w == s.Request.First || g.Floor < r.Floor {
			r.Floor = g.Floor
		}
		w++
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("takeover: the new center's clock is behind what the old side has used by %v: %w", d, ctx.Err())
	}
}

// borrow borrows one worker id.
func (s Side) borrow(ctx context.Context, side string, w int64) (lease.Grant, error) {
	req := s.Request
	req.First, req.Last, req.Owner, req.Holder = w, w, lease.NewOwner(), "takeover"
	req.Local = time.Now().UnixMilli()
	g, err := s.Center.Acquire(ctx, req)
	for full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full); g, err = s.Center.Acquire(ctx, req) {
		live := &LiveError{Side: side, Worker: w, Until: full.Soonest}
		if lister, ok := s.Center.(lease.Lister); ok {
			slots, err := lister.Slots(ctx, req.Namespace)
			if err != nil {
				return g, fmt.Errorf("takeover: list the worker ids of the %s side: %w", side, err)
			}
			for _, slot := range slots {
				if slot.Worker == w {
					live.Holder = slot.Holder
				}
			}
		}
		// One that was given back a moment ago is free in the next millisecond.
		if live.Holder != "" || full.Wait() > time.Second {
			return g, live
		}
		if err := sleep(ctx, full.Wait()); err != nil {
			return g, live
		}
	}
	if err != nil {
		return g, fmt.Errorf("takeover: borrow worker id %d of the %s side: %w", w, side, err)
	}
	return g, nil
}
