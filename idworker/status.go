package idworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/redisseq/counter"
)

// State is where a worker stands.
type State string

// The states.
const (
	StateNotStarted  State = "not_started"
	StateQuarantined State = "quarantined" // asks for a worker id; the center, which may have forgotten some, lends none yet
	StateReady       State = "ready"       // has a worker id
	StateBorrowing   State = "borrowing"   // lost its lease: uses up its range, asks for another worker id
	StateExpired     State = "expired"     // past its ceiling: the center is away, or lends nothing
	StateStopped     State = "stopped"
	StateUnavailable State = "unavailable" // mode redis-sequence: Redis gives no ids
)

// Status is what a worker knows at a moment. Times are the center's.
type Status struct {
	State     State  `json:"state"`
	Namespace string `json:"namespace"`
	Center    string `json:"center"` // "fixed" without one
	// Promise says how far the worker id is unique, in mode local.
	Promise string `json:"promise,omitempty"`
	Layout  string `json:"layout"`
	// Worker is the worker id that ids carry, or -1 before the first.
	Worker int64 `json:"worker"`
	// Business is the business number that ids carry.
	Business int64 `json:"business"`
	Token    int64 `json:"token"`
	// No id lies at or below Floor, or above Ceiling.
	Floor   time.Time `json:"floor,omitzero"`
	Ceiling time.Time `json:"ceiling,omitzero"`
	// Since is when the worker id was borrowed.
	Since time.Time `json:"since,omitzero"`
	// Now is the center's clock at the moment of the snapshot, zero before the first lease.
	Now time.Time `json:"now,omitzero"`
	// Renewed is when the center last answered, by this host's clock.
	Renewed time.Time `json:"renewed,omitzero"`
	// Err is the error of the last attempt to borrow or renew, nil after a success.
	Err error `json:"-"`
	// Error is Err as a text.
	Error string `json:"error,omitempty"`
	// Losses counts the leases lost.
	Losses int `json:"losses"`
	// Renewals counts the renewals that succeeded, Failures the attempts to borrow or to
	// renew that did not, but for losses. In mode redis-sequence there are none.
	Renewals int64 `json:"renewals"`
	Failures int64 `json:"failures"`
	// Issued counts the ids issued.
	Issued int64 `json:"issued"`
	// Batches counts the calls of NextIDs by their sizes.
	Batches Batches `json:"batches"`
	// Waits counts the calls that had to wait: for the lead of a burst, or for a lease
	// that had expired.
	Waits int64 `json:"waits"`
	// Lead is how far the last id lies ahead of the clock: after a burst, or while Floor
	// lies ahead of Now.
	Lead time.Duration `json:"lead_ns"`
	Pool Pool          `json:"pool"`
	// Sequence is what mode redis-sequence knows, nil in other modes.
	Sequence *counter.Status `json:"sequence,omitempty"`
}

// Pool is the worker ids of a namespace, 0 to Size-1, and the range of them that
// this process may borrow.
type Pool struct {
	Size  int64 `json:"size"`
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Replicas returns how many replicas the range is good for: half of it, since
// rolling deploys and crashed processes hold worker ids as well.
func (p Pool) Replicas() int64 { return max(1, (p.Last-p.First+1)/2) }

// String says in short what w is: "worker 6 of orders, ready".
func (w *IdWorker) String() string {
	st := w.Status()
	if st.Worker < 0 {
		return fmt.Sprintf("no worker id of %s, %s", st.Namespace, st.State)
	}
	return fmt.Sprintf("worker %d of %s, %s", st.Worker, st.Namespace, st.State)
}

// Status returns what the worker knows. It does no I/O.
func (w *IdWorker) Status() Status {
	p := w.plan
	st := Status{
		State: StateReady, Namespace: p.Namespace, Center: "fixed", Layout: p.layout.String(), Worker: -1, Business: p.Business,
		Pool: Pool{Size: p.request.Pool, First: p.request.First, Last: p.request.Last}, Batches: w.sizes.told(),
	}
	if w.seq != nil {
		w.seq.status(&st)
		return st.told()
	}
	st.Issued, st.Waits, st.Lead = w.gen.Issued(), w.gen.Waits(), w.gen.Lead()
	err := w.gen.Err()
	if w.keeper == nil {
		st.Worker = *p.Worker
	} else {
		k := w.keeper.Status()
		if c, ok := w.center.(interface{ Promise() string }); ok {
			st.Promise = c.Promise()
		}
		st.Renewals, st.Failures = k.Renewals, k.Failures
		st.Center, st.Err, st.Losses, st.Renewed = lease.Name(w.center), k.Err, k.Losses, k.Renewed
		if g := k.Grant; g != (lease.Grant{}) {
			st.Worker, st.Token = g.Worker, g.Token
			st.Now = time.UnixMilli(g.Now).Add(time.Since(k.Renewed))
			st.Floor, st.Ceiling, st.Since = time.UnixMilli(g.Floor), time.UnixMilli(g.Ceiling), time.UnixMilli(g.Since)
		}
		switch k.State {
		case keeper.Quarantined:
			st.State = StateQuarantined
		case keeper.Borrowing:
			st.State = StateBorrowing
		}
	}
	switch {
	case errors.Is(err, ErrStopped):
		st.State = StateStopped
	case errors.Is(err, ErrNotStarted) && st.State != StateQuarantined:
		st.State = StateNotStarted
	case errors.Is(err, ErrLeaseExpired):
		st.State = StateExpired
	}
	return st.told()
}

// told returns st with Err as a text.
func (st Status) told() Status {
	if st.Err != nil {
		st.Error = st.Err.Error()
	}
	return st
}

// ErrNoSlots is returned by Slots where there is no center that shows them.
var ErrNoSlots = errors.New("idworker: there are no slots to show: the worker has no center (mode redis-sequence, Fixed), or one that is no lease.Lister")

// Slots asks the center for all worker ids of a namespace, such as Status().Namespace,
// and who holds them: that of lease.Lister. It is for people and for metrics and may
// read many rows. Errors: ErrNoSlots; those of the center.
func (w *IdWorker) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	c, ok := w.center.(lease.Lister)
	if !ok {
		return nil, ErrNoSlots
	}
	return c.Slots(ctx, namespace)
}

// Healthy returns nil while NextID issues ids, or why it does not. Readiness may
// depend on it, liveness must not: a restart does not bring the center back.
func (w *IdWorker) Healthy(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("idworker: healthy: %w", err)
	}
	if err := w.standing(); err != nil {
		return w.explain(err)
	}
	return nil
}

// Ready reports whether NextID issues ids.
func (w *IdWorker) Ready() bool { return w.standing() == nil }

// standing is why NextID issues nothing, or nil.
func (w *IdWorker) standing() error {
	if w.seq != nil {
		return w.seq.whole.Err()
	}
	return w.gen.Err()
}
