package snowlease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// State describes the current activity of a worker.
type State string

// The states.
const (
	StateNotStarted  State = "not_started" // no worker id yet, or none during a Reset
	StateQuarantined State = "quarantined" // borrowing, but the center may have forgotten leases and grants none yet
	StateReady       State = "ready"       // has a worker id; mode redis-sequence: the last call of Redis succeeded
	StateBorrowing   State = "borrowing"   // lost its lease; uses up its range while borrowing another worker id
	StateExpired     State = "expired"     // the ceiling has passed: the center is unreachable or grants no lease
	StateStopped     State = "stopped"
	StateUnavailable State = "unavailable" // mode redis-sequence: Redis issues no ids
)

// Status is a snapshot of a worker. Times are of the center's clock unless noted otherwise.
//
// Without a lease, in mode redis-sequence and for a Fixed worker, the times and the fields Token,
// Renewals, Failures and Losses stay zero. In mode redis-sequence, Waits and Lead stay zero too,
// and Sequence has the details.
type Status struct {
	State     State  `json:"state"`
	Namespace string `json:"namespace"`
	Center    string `json:"center"` // the name of the center, or "fixed"
	// Holder is the name of this process in the center: Config.Holder, by default program@host:pid.
	Holder string `json:"holder"`
	// Uniqueness describes how far worker ids are unique, if that depends on the host.
	Uniqueness string `json:"uniqueness,omitempty"`
	// Layout is the layout's fingerprint, such as "epoch=1577808000000 unit=1ms
	// bits=41/5/0/17".
	Layout string `json:"layout"`
	// Worker is the worker id in the ids, or -1 before the first lease and during a Reset.
	Worker int64 `json:"worker"`
	// Business is Config.Business. The counts below include Streams with other business numbers.
	Business int64 `json:"business"`
	// Token is the number of the lease. It rises each time the worker id is leased.
	Token int64 `json:"token"`
	// Pin is the center's record of all processes of the namespace, such as "layout={...} pool=32
	// max_ttl=30s skew=2s": see lease.Pin. Its max_ttl and skew are the greatest of any process.
	Pin string `json:"pin,omitempty"`
	// Ids carry times after Floor and not after Ceiling.
	Floor   time.Time `json:"floor,omitzero"`
	Ceiling time.Time `json:"ceiling,omitzero"`
	// Reason is why the center granted no lease at first and ids are ahead of the clock, if this
	// process has met such a quarantine: lease.NothingOnRecord in a new namespace, or the loss that
	// the center detected.
	Reason string `json:"reason,omitempty"`
	// Since is when the worker id was borrowed.
	Since time.Time `json:"since,omitzero"`
	// Now is when the snapshot was taken, or zero before the first lease.
	Now time.Time `json:"now,omitzero"`
	// Renewed is when the lease was last borrowed or renewed, by this host's clock.
	Renewed time.Time `json:"renewed,omitzero"`
	// Err is the error of the last attempt to borrow, renew or release, or nil if it succeeded. In
	// mode redis-sequence it is the error of the last call of Redis.
	Err error `json:"-"`
	// Error is Err.Error().
	Error string `json:"error,omitempty"`
	// FailingSince is when the first attempt after the last success began, if it failed, on this
	// host's clock. It is zero while Err is nil. If no further attempt succeeds, ids stop at
	// Ceiling; in mode redis-sequence, they stop when the reserved ids are used up.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Losses counts lost leases.
	Losses int64 `json:"losses"`
	// Renewals counts successful renewals. Failures counts failed attempts to borrow or renew,
	// except losses and quarantines.
	Renewals int64 `json:"renewals"`
	Failures int64 `json:"failures"`
	// Issued counts the ids of the worker and its Streams, except backdated ids.
	Issued int64 `json:"issued"`
	// Batches counts calls of NextIDs by size.
	Batches Batches `json:"batches"`
	// Waits counts calls that waited after a burst or for a lease that had expired.
	Waits int64 `json:"waits"`
	// Lead is how far the last id is ahead of the clock. It is positive after a burst, and while
	// Floor is ahead of Now.
	Lead time.Duration `json:"lead_ns"`
	// Pool is the pool of worker ids. In mode redis-sequence, its range is a single worker id.
	Pool Pool `json:"pool"`
	// Sequence is the status of mode redis-sequence. It is nil in other modes.
	Sequence *Sequence `json:"sequence,omitempty"`
}

// Sequence describes how Redis counts ids, in mode redis-sequence of package idworker.
type Sequence struct {
	Namespace string `json:"namespace"`
	Center    string `json:"center"` // the name of the server
	Layout    string `json:"layout"` // the layout's fingerprint
	Worker    int64  `json:"worker"`
	Strict    bool   `json:"strict"` // Prefetch is 1: ids ascend across processes
	// Calls is the number of calls of Redis, Reserved is the number of ids that they reserved, and
	// Issued is the number of ids issued. Issued includes the first ids of calls that Reset
	// restarted.
	Calls    int64 `json:"calls"`
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	// Block is how many ids a call requests at the current rate.
	Block int64 `json:"block"`
	// AtHand is the number of ids that are reserved, not yet issued, and fresh enough to issue.
	AtHand int64 `json:"at_hand"`
	// Last is the time of the last reserved id, or zero before the first.
	Last time.Time `json:"last,omitzero"`
	// Quarantine is the end of the quarantine that the last call met, on the clock of Redis. It is
	// zero if there was none.
	Quarantine time.Time `json:"quarantine,omitzero"`
	// FailingSince is when the first call after the last success began, if it failed, on this host's
	// clock. It is zero while Redis reserves ids.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Err is the error of the last call, or nil if it succeeded.
	Err error `json:"-"`
	// Error is Err.Error().
	Error string `json:"error,omitempty"`
}

// Pool describes the worker ids of a namespace, 0 to Size-1, and the range First to Last that
// this process may borrow.
type Pool struct {
	Size  int64 `json:"size"`
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Replicas returns the number of replicas that the range suffices for: half of its worker ids,
// since rolling deployments and crashed processes hold worker ids too.
func (p Pool) Replicas() int64 { return max(1, (p.Last-p.First+1)/2) }

// String returns Status().String().
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

// Slots asks the center for all worker ids of the namespace and their holders. It is meant for
// people and metrics, and may read many rows. Errors: errors.ErrUnsupported if there is no center
// or the center cannot list them, and errors of the center.
func (w *Worker) Slots(ctx context.Context) ([]lease.Slot, error) {
	x := w.source.Extras()
	if x.Lister == nil {
		return nil, fmt.Errorf("snowlease: slots: %w: %s lists no worker ids", errors.ErrUnsupported, x.Name)
	}
	return x.Lister.Slots(ctx, w.cfg.Namespace)
}

// Healthy returns nil if NextID can issue ids, or else the reason why it cannot. Use it for a
// readiness check only if requests are useless without ids: in a long outage, all replicas become
// unready. Never use it for a liveness check: a restart does not bring the center back. Healthy
// does no I/O.
func (w *Worker) Healthy() error {
	if err := w.source.Err(); err != nil {
		return w.explain(err)
	}
	return nil
}
