package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/lease"
)

// A Report describes what Take found and did. Times are Unix milliseconds.
type Report struct {
	// Mark is the largest of all old marks. No id of the old side has a later time, and new processes
	// start above it.
	Mark int64
	// Sealed is the time, on the old center's clock, until which it leases none of its worker ids.
	Sealed int64
	// Retired reports that the old namespace was retired, so that its worker ids are never leased
	// again.
	Retired bool
}

// A LiveError reports that a worker id is leased, or that its ids may be ahead of the clock. Stop
// its process, or wait until Until.
type LiveError struct {
	Side   string // "old" or "new"
	Worker int64
	Holder string // empty if released or unknown
	// Until is when the worker id is free, unless its holder renews the lease.
	Until time.Time
}

// Error names the worker id, its holder and the remedy.
func (e *LiveError) Error() string {
	who := "is in use up to"
	if e.Holder != "" {
		who = fmt.Sprintf("is lent to %q until", e.Holder)
	}
	return fmt.Sprintf("takeover: worker id %d of the %s side %s %s; stop its process or wait, then run it again (nothing was changed)",
		e.Worker, e.Side, who, e.Until.UTC().Format(time.RFC3339Nano))
}

// Take hands the worker ids of the old side over to the new side after the last old process has
// stopped. New processes may then borrow every worker id of next.Request. The new namespace must
// be open (Init), and none of its worker ids in next.Request may be leased. Take has three steps:
//
//   - It borrows all worker ids of the old side, which proves that nobody holds one, and
//     keeps them until Report.Sealed.
//   - It waits until the new center's clock has passed all times that the old side used,
//     and raises the mark of every new worker id to that time.
//   - It retires the old namespace, if old.Request covers its whole pool. A process with the old
//     configuration is then refused for good. Otherwise the center refuses it only until Sealed. If
//     such a process has started during a Take that was paused, Take waits until the new side lies
//     above its ids.
//
// ctx bounds the wait. If Take fails, the old side leases again, and Take can be called again,
// unless the error reports that the old side is retired, and until when to wait. Its errors are:
//
//   - *LiveError, if a worker id is in use.
//   - *lease.MismatchError, if a side differs from the pin of its namespace, or is retired. Of an
//     old side it then says from when new processes may start, if the Take that retired it failed.
//   - *lease.QuarantineError, if a center may have lost records of grants.
//   - migrate.ErrNoPlan, if the layout changes and new ids would not all be larger than
//     old ones.
//   - Errors of the centers, and of ctx.
func Take(ctx context.Context, old, next Side) (r Report, err error) {
	held := &hold{Side: old}
	err = held.seal(ctx, &r)
	if err != nil {
		err = old.retired(ctx, err)
	}
	if err == nil {
		err = next.raise(ctx, held, &r)
	}
	if err == nil {
		r.Sealed, err = held.keep(ctx, 0) // which proves that nobody else had the worker ids in the meantime
	}
	if err == nil && old.whole() {
		r.Retired, err = true, old.operator().Retire(ctx, old.Request.Namespace, next.reason())
	}
	if err != nil {
		return Report{}, errors.Join(err, held.unseal(ctx))
	}
	if r.Retired {
		err = held.outlast(ctx, next, &r)
	}
	return r, err
}

// A hold is the grants of the old side that Take holds.
type hold struct {
	Side
	grants  []lease.Grant
	renewed []time.Time
}

// outlast raises the new side above the ids of processes that borrowed between sealed and
// retire, on record or not. Both need time, and a Take may be paused there for longer than a TTL.
func (h *hold) outlast(ctx context.Context, next Side, r *Report) error {
	slots, err := h.settled(ctx)
	rec, unread := h.operator().Record(ctx, h.Request.Namespace)
	if err = cmp.Or(err, unread); err != nil {
		return fmt.Errorf("takeover: the old side is retired, but its worker ids are not listed: wait %v before the new side starts: %w", h.Request.MaxTTL, err)
	}
	late := ""
	for _, slot := range slots {
		i := slot.Worker - h.Request.First
		own := i >= 0 && i < int64(len(h.grants)) && slot.Token == h.grants[i].Token
		if !own && i >= 0 && slot.Worker <= h.Request.Last && max(slot.Expires, slot.HighWater) > r.Mark {
			late, r.Mark = fmt.Sprintf("worker id %d was lent to %q", slot.Worker, slot.Holder), max(slot.Expires, slot.HighWater)
		}
	}
	if rec.Quarantine > r.Mark {
		late, r.Mark = "records were lost", rec.Quarantine
	}
	if late == "" {
		return nil
	}
	if err := next.raise(ctx, &hold{Side: h.Side}, r); err != nil {
		return fmt.Errorf("takeover: the old side is retired, but %s in the meantime; start no new process before %s: %w",
			late, time.UnixMilli(r.Mark+1).UTC().Format(time.RFC3339Nano), err)
	}
	return nil
}

// settled lists the worker ids of a retired side. A database may execute an earlier borrow or
// renewal afterward; such a call fails once its worker id is revoked. So settled revokes the
// worker ids that it lists until nothing has changed.
func (s Side) settled(ctx context.Context) (slots []lease.Slot, err error) {
	op := s.operator()
	holders := map[int64]string{} // a worker id that was revoked has no holder
	for range 10 {
		before := slots
		if slots, err = op.Slots(ctx, s.Request.Namespace); err != nil {
			return nil, err
		}
		same := before != nil && slices.EqualFunc(before, slots, func(a, b lease.Slot) bool {
			return a.Worker == b.Worker && a.Token == b.Token && a.HighWater == b.HighWater
		})
		for i, slot := range slots {
			slots[i].Holder = cmp.Or(slot.Holder, holders[slot.Worker])
			holders[slot.Worker] = slots[i].Holder
			if same || slot.Since == 0 {
				continue
			}
			if err := op.Revoke(ctx, s.Request.Namespace, slot.Worker, slot.Token); err != nil && !errors.Is(err, lease.ErrLost) {
				return nil, err
			}
		}
		if same {
			return slots, nil
		}
	}
	return nil, errors.New("its records kept changing after it was retired")
}

func (s Side) operator() lease.Operator { return s.Center.Extras().Operator }

// whole reports whether the side has all of its worker ids.
func (s Side) whole() bool { return s.Request.First <= 0 && s.Request.Last >= s.Request.Pool-1 }

// retired returns err, or that the side is retired, and the latest time of its ids.
func (s Side) retired(ctx context.Context, err error) error {
	rec, unknown := s.operator().Record(ctx, s.Request.Namespace)
	if unknown != nil || !rec.Pin.Retired {
		return err
	}
	err = &lease.MismatchError{Namespace: s.Request.Namespace, Stored: rec.Pin, Asked: s.Request.Pin()}
	slots, failed := s.settled(ctx)
	if failed != nil {
		return fmt.Errorf("takeover: nothing is left to take over: %w; its worker ids are not listed: %w", err, failed)
	}
	last := rec.Quarantine
	for _, slot := range slots {
		last = max(last, slot.Expires, slot.HighWater)
	}
	return fmt.Errorf("takeover: nothing is left to take over: %w; if the takeover to it failed, start no new process there before its center's clock is past %s; if it succeeded, there is nothing to do",
		err, time.UnixMilli(last).UTC().Format(time.RFC3339Nano))
}

// reason returns the reason for which the old side is retired for s.
func (s Side) reason() string {
	return fmt.Sprintf("its worker ids were taken over by namespace %q of %s", s.Request.Namespace, lease.Name(s.Center))
}

// seal borrows all worker ids, so that no other process can.
func (h *hold) seal(ctx context.Context, r *Report) error {
	for w := h.Request.First; w <= h.Request.Last; w++ {
		if _, err := h.keep(ctx, h.pace()); err != nil {
			return err
		}
		began := time.Now()
		g, err := h.borrow(ctx, "old", w)
		if err != nil {
			return err
		}
		h.grants, h.renewed = append(h.grants, g), append(h.renewed, began)
		r.Mark = max(r.Mark, g.Floor)
	}
	return nil
}

// keep renews the grants of that age, because a store can be slow, or its clock behind. It returns
// the time until which nobody else can have one of them.
func (h *hold) keep(ctx context.Context, age time.Duration) (until int64, err error) {
	for i, g := range h.grants {
		if began := time.Now(); began.Sub(h.renewed[i]) >= age {
			if g, err = h.Center.Renew(ctx, g); err != nil {
				return 0, fmt.Errorf("takeover: worker id %d of the old side could not be kept in the meantime; run the takeover again, nearer to its store: %w", h.grants[i].Worker, err)
			}
			h.grants[i], h.renewed[i] = g, began
		}
		if i == 0 || g.Ceiling < until {
			until = g.Ceiling
		}
	}
	return until, nil
}

// pace returns the time between renewals of a grant: with less than the skew left, the grant
// would be lost. At first it may be shorter than TTL: see lease.PinChange.
func (h *hold) pace() time.Duration {
	ttl := h.Request.TTL
	if len(h.grants) > 0 {
		ttl = min(ttl, cmp.Or(h.grants[0].Pinned.Used(), ttl))
	}
	return (ttl - min(h.Request.Skew, ttl/2)) / 2
}

// unseal releases worker ids unused, even after ctx has ended, but takes no longer than their
// leases last.
func (h *hold) unseal(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(5*time.Second, h.Request.TTL))
	defer cancel()
	for _, g := range h.grants {
		if kept := h.Center.Release(ctx, g, g.Floor); kept != nil && !errors.Is(kept, lease.ErrLost) {
			err = errors.Join(err, fmt.Errorf("takeover: release worker id %d of the old side, which stays leased for %v: %w", g.Worker, h.Request.TTL, kept))
		}
	}
	return err
}

// raise raises the marks of all worker ids to at least r.Mark, and keeps the grants of old.
func (s Side) raise(ctx context.Context, old *hold, r *Report) error {
	for w := s.Request.First; w <= s.Request.Last; {
		if _, err := old.keep(ctx, old.pace()); err != nil {
			return err
		}
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
			behind := time.Duration(r.Mark-g.Floor+1) * time.Millisecond
			if err := bounded.Sleep(ctx, min(behind, old.pace()/2)); err != nil {
				return fmt.Errorf("takeover: the new center's clock is behind the old side's latest time by %v: %w", behind, err)
			}
			continue
		}
		w++
	}
	return nil
}

// borrow borrows worker id w.
func (s Side) borrow(ctx context.Context, side string, w int64) (lease.Grant, error) {
	req := s.Request
	req.First, req.Last, req.Owner, req.Holder = w, w, lease.NewOwner(), "takeover"
	req.CallerTime = time.Now().UnixMilli()
	g, err := s.Center.Acquire(ctx, req)
	for full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full); g, err = s.Center.Acquire(ctx, req) {
		live := &LiveError{Side: side, Worker: w, Until: full.Soonest}
		slots, err := s.operator().Slots(ctx, req.Namespace)
		if err != nil {
			return g, fmt.Errorf("takeover: list the worker ids of the %s side: %w", side, err)
		}
		for _, slot := range slots {
			if slot.Worker == w {
				live.Holder = slot.Holder
			}
		}
		// A worker id that was just released is free in the next millisecond.
		if live.Holder != "" || full.Wait() > time.Second {
			return g, live
		}
		if err := bounded.Sleep(ctx, full.Wait()); err != nil {
			return g, live
		}
	}
	if err != nil {
		return g, fmt.Errorf("takeover: borrow worker id %d of the %s side: %w", w, side, err)
	}
	return g, nil
}
