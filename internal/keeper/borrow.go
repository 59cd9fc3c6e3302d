package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
)

// borrow makes one attempt within patience and installs the range in the generator. final means
// that only a change of configuration helps.
//
// The owner stays the same until a grant is used or released, so that the attempt after a lost
// answer gets the same grant. The next borrow has a new owner: a release whose answer was lost
// may still be in progress, and would free the next grant of the same owner. After a Reset, the
// owner is new too.
func (k *Keeper) borrow(ctx context.Context, patience time.Duration) (final bool, err error) {
	if k.owner == [16]byte{} || k.copied() { // not earlier, since a copy of the process would have the same owner
		k.mu.Lock()
		k.asked = k.resets // read before the owner is created
		k.mu.Unlock()
		k.owner = lease.NewOwner()
	}
	call, cancel := outlasting(ctx, patience)
	k.began = time.Now()
	g, err := k.ask(call)
	at := k.cfg.Generator.Elapsed()
	late := call.Err()
	cancel()
	k.took = time.Since(k.began)
	final = errors.As(err, new(*lease.MismatchError)) || errors.As(err, new(*lease.ClockError)) || errors.Is(err, lease.ErrSetup)
	k.unsure = !final && !errors.As(err, new(*lease.QuarantineError)) && !errors.As(err, new(*lease.NoFreeWorkerError))
	switch {
	case err != nil:
		k.count(err)
		return final, err
	case ctx.Err() != nil: // nobody waits for the grant
		return true, errors.Join(ctx.Err(), k.decline(ctx, g))
	case late != nil: // the same as a lost answer
		k.count(late)
		return false, late
	}
	lent := rangeOf(g, at)
	if err = k.adopt(lent); err != nil {
		return !errors.Is(err, errReset), errors.Join(err, k.decline(ctx, g))
	}
	k.owner = [16]byte{}
	k.pace.success()
	k.grant, k.lent = g, lent
	former, _ := k.granted(g, at)
	args := []any{"worker", g.Worker, "namespace", g.Namespace, "center", lease.Name(k.cfg.Center), "token", g.Token, "ttl", g.TTL}
	if former != (lease.Grant{}) && former.Worker != g.Worker {
		args = append(args, "former_worker", former.Worker)
	}
	if g.Floor > g.Now { // for this long, ids are ahead of the clock
		args = append(args, "ids_ahead", time.Duration(g.Floor-g.Now)*time.Millisecond)
	}
	k.cfg.Logger.Info("worker id borrowed", args...)
	k.watch(ctx, lent)
	return false, nil
}

// ask calls Acquire once for the owner.
func (k *Keeper) ask(ctx context.Context) (lease.Grant, error) {
	req := k.cfg.Request
	req.Owner, req.CallerTime = k.owner, time.Now().UnixMilli()
	g, err := k.cfg.Center.Acquire(ctx, req)
	if err == nil && g.Owner != req.Owner {
		err = fmt.Errorf("%w: the center answered a borrow with a grant of another owner, worker id %d, token %d", lease.ErrSetup, g.Worker, g.Token)
	}
	return g, err
}

// margin is how long before a deadline a call ends, so that the two always end in this order.
const margin = time.Millisecond

// outlasting returns a context that ends after patience or a margin before the deadline of ctx.
// If ctx is canceled, the context continues for answerTime, because the answer contains the grant
// to release.
func outlasting(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(patience)
	if by, ok := ctx.Deadline(); ok && by.Add(-margin).Before(end) {
		end = by.Add(-margin)
	}
	call, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(answerTime, cancel) })
	return call, func() { stop(); cancel() }
}

// forsake releases the grant that an abandoned borrow may have received, if its last answer left
// that open. A second Acquire returns the same owner's grant or a new one, and nobody has used
// either. After the release the center grants this owner nothing more, even if an abandoned call
// arrives late. forsake does not release a grant that a copy of the process may use.
func (k *Keeper) forsake(ctx context.Context) {
	if k.owner == [16]byte{} || !k.unsure {
		return
	}
	within := forsakeTime
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil {
		within = min(within, time.Until(end)/2)
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	if g, err := k.ask(call); err == nil && !k.copied() {
		_ = k.release(call, g, g.Floor)
	}
	k.owner = [16]byte{}
}

// decline releases an unused grant, unless a copy of the process may use it.
func (k *Keeper) decline(ctx context.Context, g lease.Grant) error {
	k.owner = [16]byte{}
	if k.copied() {
		return nil
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout-answerTime)
	defer cancel()
	return k.release(call, g, g.Floor)
}

// copied reports whether Reset was called since the owner of the borrow or grant was created. A
// copy of the process may then have the same owner.
func (k *Keeper) copied() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.resets != k.asked
}

// adopt gives the generator a range, unless a copy of the process may have the range too: waiting
// callers would get ids from it before Reset could take it away.
func (k *Keeper) adopt(r generator.Range) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.resets != k.asked {
		return errReset
	}
	_, err := k.cfg.Generator.Adopt(r)
	return err
}

// granted records a success. at is the generator's clock when the answer arrived. granted returns
// the previous grant and the error of the previous attempt.
func (k *Keeper) granted(g lease.Grant, at time.Duration) (former lease.Grant, err error) {
	k.mu.Lock()
	st := &k.status
	former, err = st.Grant, st.Err
	if st.State == Holding { // a renewal
		if st.Renewals++; g.Floor != former.Floor {
			st.Reason = "it restarted, failed over or lost records"
		}
	}
	st.State, st.Grant, st.Renewed, st.Err, st.FailingSince = Holding, g, time.Now(), nil, time.Time{}
	k.at = at
	k.mu.Unlock()
	is, was, own := g.Pinned, former.Pinned, k.cfg.Request
	if (is.MaxTTL > own.MaxTTL || is.Skew > own.Skew) && (is.MaxTTL != was.MaxTTL || is.Skew != was.Skew) {
		k.cfg.Logger.Warn("the namespace has a greater max_ttl or skew than this process", "namespace", g.Namespace,
			"max_ttl", is.MaxTTL, "skew", is.Skew, "own_max_ttl", own.MaxTTL, "own_skew", own.Skew)
	}
	return former, err
}

// count counts a failure. A quarantine is not a failure, because the center reports how long to
// wait.
func (k *Keeper) count(err error) {
	if errors.As(err, new(*lease.QuarantineError)) {
		return
	}
	k.pace.failure()
	k.cfg.Generator.RenewalFailed()
	k.mu.Lock()
	k.status.Failures++
	k.mu.Unlock()
}

func rangeOf(g lease.Grant, at time.Duration) generator.Range {
	return generator.Range{Worker: g.Worker, Floor: g.Floor, Ceiling: g.Ceiling, Now: g.Now, At: at, Grows: grows(g)}
}
