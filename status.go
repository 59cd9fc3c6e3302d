package snowlease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// State is what a worker is doing.
type State string

// The states.
const (
	StateNotStarted  State = "not_started" // no worker id yet, or none during a Reset
	StateQuarantined State = "quarantined" // borrowing, but the center may have forgotten leases and lends nothing yet
	StateReady       State = "ready"       // has a worker id; mode redis-sequence: the last call of Redis succeeded
	StateBorrowing   State = "borrowing"   // lost its lease: uses up its range while borrowing another worker id
	StateExpired     State = "expired"     // the ceiling has passed: the center is unreachable or lends nothing
	StateStopped     State = "stopped"
	StateUnavailable State = "unavailable" // mode redis-sequence: Redis issues no ids
)

// Status is a snapshot of a worker. Times are by the center's clock unless noted otherwise.
//
// Without a lease, in mode redis-sequence and for a Fixed worker, the times and the fields
// Token, Renewals, Failures and Losses stay zero. In mode redis-sequence, so do Waits and
// Lead, and Sequence has the details.
type Status struct {
	State     State  `json:"state"`
	Namespace string `json:"namespace"`
	Center    string `json:"center"` // the name of the center, or "fixed"
	// Holder names this process in the center: Config.Holder, by default
	// program@host:pid.
	Holder string `json:"holder"`
	// Uniqueness says how far worker ids are unique, if that depends on the host.
	Uniqueness string `json:"uniqueness,omitempty"`
	// Layout is the layout's fingerprint, such as "epoch=1577808000000 unit=1ms
	// bits=41/5/0/17".
	Layout string `json:"layout"`
	// Worker is the worker id in the ids, or -1 before the first lease and during a Reset.
	Worker int64 `json:"worker"`
	// Business is Config.Business. Streams of other business numbers count here too.
	Business int64 `json:"business"`
	// Token is the number of the lease. It rises each time the worker id is lent.
	Token int64 `json:"token"`
	// Pin is what the center has on record of all processes of the namespace, such as
	// "layout={...} pool=32 max_ttl=30s skew=2s": see lease.Pin. Its max_ttl and skew are the
	// greatest of any process.
	Pin string `json:"pin,omitempty"`
	// The times of ids are after Floor, and at or before Ceiling.
	Floor   time.Time `json:"floor,omitzero"`
	Ceiling time.Time `json:"ceiling,omitzero"`
	// Reason is why the center lent nothing at first, and ids lie ahead of the clock, as far as this
	// process has met that: lease.NothingOnRecord in a new namespace, or what the center has lost.
	Reason string `json:"reason,omitempty"`
	// Since is when the worker id was borrowed.
	Since time.Time `json:"since,omitzero"`
	// Now is when the snapshot was taken, or zero before the first lease.
	Now time.Time `json:"now,omitzero"`
	// Renewed is when the lease was last borrowed or renewed, by this host's clock.
	Renewed time.Time `json:"renewed,omitzero"`
	// Err is the error of the last attempt to borrow, renew or give back, or nil if it
	// succeeded. In mode redis-sequence it is that of the last call of Redis.
	Err error `json:"-"`
	// Error is the text of Err.
	Error string `json:"error,omitempty"`
	// FailingSince is when the first attempt after the last success began, if it failed, by
	// this host's clock. It is zero while Err is nil. Ids stop at Ceiling if no further
	// attempt succeeds; in mode redis-sequence, when those reserved are used up.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Losses counts lost leases.
	Losses int64 `json:"losses"`
	// Renewals counts successful renewals. Failures counts failed attempts to borrow or
	// renew, without losses and quarantines.
	Renewals int64 `json:"renewals"`
	Failures int64 `json:"failures"`
	// Issued counts the ids of the worker and its Streams, without backdated ones.
	Issued int64 `json:"issued"`
	// Batches counts calls of NextIDs by size.
	Batches Batches `json:"batches"`
	// Waits counts calls that waited, after a burst or for an expired lease.
	Waits int64 `json:"waits"`
	// Lead is how far the last id is ahead of the clock. It is positive after a burst, and
	// while Floor is ahead of Now.
	Lead time.Duration `json:"lead_ns"`
	// Pool is the pool of worker ids; in mode redis-sequence, its range is the one worker id.
	Pool Pool `json:"pool"`
	// Sequence is the status of mode redis-sequence, nil in other modes.
	Sequence *Sequence `json:"sequence,omitempty"`
}

// Sequence describes how Redis counts ids, in mode redis-sequence of package idworker.
type Sequence struct {
	Namespace string `json:"namespace"`
	Center    string `json:"center"` // the name of the server
	Layout    string `json:"layout"` // the layout's fingerprint
	Worker    int64  `json:"worker"`
	Strict    bool   `json:"strict"` // Prefetch is 1: ids ascend across processes
	// Calls is the number of calls of Redis, Reserved the number of ids that they
	// reserved, and Issued the number of ids issued, with the first ones of calls that Reset
	// made start again.
	Calls    int64 `json:"calls"`
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	// Block is how many ids a call requests at the current rate.
	Block int64 `json:"block"`
	// AtHand is how many ids are reserved, not issued, and not too old to be.
	AtHand int64 `json:"at_hand"`
	// Last is the time of the last reserved id, or zero before the first.
	Last time.Time `json:"last,omitzero"`
	// Quarantine is the end of the quarantine that the last call met, by the clock of
	// Redis. It is zero if there was none.
	Quarantine time.Time `json:"quarantine,omitzero"`
	// FailingSince is when the first call after the last success began, if it failed, by
	// this host's clock. It is zero while Redis reserves ids.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Err is the error of the last call, or nil if it succeeded.
	Err error `json:"-"`
	// Error is the text of Err.
	Error string `json:"error,omitempty"`
}

// Pool describes the worker ids of a namespace, 0 to Size-1, and the range First to Last
// that this process may borrow.
type Pool struct {
	Size  int64 `json:"size"`
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Replicas returns how many replicas the range is sufficient for: half of its worker ids,
// since rolling deploys and crashed processes hold worker ids too.
func (p Pool) Replicas() int64 { return max(1, (p.Last-p.First+1)/2) }

// String returns the summary of the worker's Status.
func (w *Worker) String() string { return w.Status().String() }

// String returns a summary such as "worker 6 of orders, ready".
func (st Status) String() string {
	if st.Worker < 0 {
		return fmt.Sprintf("no worker id of %s, %s", st.Namespace, st.State)
	}
	return fmt.Sprintf("worker %d of %s, %s", st.Worker, st.Namespace, st.State)
}

// Status returns a snapshot of the worker. It does no I/O.
func (w *Worker) Status() Status {
	x := w.source.Extras()
	st := Status{
		State: StateReady, Namespace: w.cfg.Namespace, Center: x.Name, Holder: w.cfg.Holder, Uniqueness: x.Uniqueness, Layout: w.cfg.Layout.String(),
		Worker: -1, Business: w.cfg.Business, Pool: w.pool, Batches: w.sizes.load(),
	}
	w.source.Report(&st)
	if st.Err != nil {
		st.Error = st.Err.Error()
	}
	return st
}

// Slots asks the center for all worker ids of the namespace and who holds them. It is meant for
// people and metrics, and may read many rows. Errors: errors.ErrUnsupported if there is no center,
// or one that does not list them, and those of the center.
func (w *Worker) Slots(ctx context.Context) ([]lease.Slot, error) {
	x := w.source.Extras()
	if x.Lister == nil {
		return nil, fmt.Errorf("snowlease: slots: %w: %s lists no worker ids", errors.ErrUnsupported, x.Name)
	}
	return x.Lister.Slots(ctx, w.cfg.Namespace)
}

// Healthy returns nil if NextID can issue ids, or the reason why it cannot. Use it for
// readiness if requests are of no use without ids, since in a long outage all replicas turn
// unready; never for liveness: a restart does not bring the center back. It does no I/O.
func (w *Worker) Healthy() error {
	if err := w.source.Err(); err != nil {
		return w.explain(err)
	}
	return nil
}
