package idworker

import (
	"context"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Stream issues a worker's ids with one business number: see IdWorker.For. It shares the
// worker id, the sequence and the lifetime of its worker. All methods are safe for
// concurrent use. The zero Stream is not usable.
//
// Most callers want NextID, which takes about as long as reading a clock, and less at high
// rates. NextIDs fills a slice with one reservation. NextIDWait waits where NextID returns
// an error.
type Stream struct {
	ids    numbers
	gen    snowflake.Stream // ids, if they are of that type, for direct calls
	source source
	past   past
	sizes  *batches
}

func newStream(ids numbers, src source, p past, sizes *batches) *Stream {
	gen, _ := ids.(snowflake.Stream)
	return &Stream{ids, gen, src, p, sizes}
}

// NextID returns the next id, which is greater than all ids with the same business number
// that this worker issued before the call. It does no I/O, takes no lock and allocates
// nothing. If a burst has reached Config.MaxAhead, it sleeps for at most one tick of the
// layout. In mode redis-sequence, it may take a lock, and wait for Redis for up to 2 s.
//
// Errors: ErrNotStarted, ErrLeaseExpired, ErrStopped, ErrExhausted; in mode redis-sequence
// also *lease.QuarantineError and errors of Redis. On error, the id is 0.
func (s *Stream) NextID() (id int64, err error) {
	if s.gen != (snowflake.Stream{}) {
		id, err = s.gen.NextID()
	} else {
		id, err = s.ids.NextID()
	}
	if err != nil {
		return 0, s.source.explain(err)
	}
	return id, nil
}

// NextIDWait returns the next id. After a burst, while the lease has expired or another
// worker id is being borrowed, after a loss or a Reset, it waits until there is one or ctx
// ends. In mode redis-sequence, it also waits for Redis and for the end of a quarantine, and
// returns at once if the deadline of ctx comes before that.
//
// Errors: ErrNotStarted before the start and ErrStopped, both at once; when ctx ends, its
// cause together with ErrLeaseExpired, ErrExhausted or, after a Reset, ErrNotStarted; in mode
// redis-sequence also *lease.QuarantineError and errors of Redis. On error, the id is 0.
func (s *Stream) NextIDWait(ctx context.Context) (int64, error) {
	id, err := s.ids.NextIDWait(ctx)
	if err != nil {
		return 0, s.source.explain(err)
	}
	return id, nil
}

// NextIDs fills dst with ascending ids. It reserves the whole batch at once if the batch
// fits within Config.MaxAhead. It waits like NextIDWait and returns the same errors. On
// error, dst is zeroed, and the reserved ids are discarded.
func (s *Stream) NextIDs(ctx context.Context, dst []int64) error {
	if err := s.ids.NextIDs(ctx, dst); err != nil {
		return s.source.explain(err)
	}
	s.sizes.add(len(dst))
	return nil
}

// For returns a Stream with another business number, 0 to 2^BusinessBits - 1 of the layout.
// Ids of one business number ascend. Ids of different business numbers ascend from tick to
// tick, but not within a tick. A number out of range is an error. The methods of the Stream
// can be called before the start; they return ErrNotStarted until then.
func (s *Stream) For(business int64) (*Stream, error) {
	ids, err := s.source.stream(business)
	if err != nil {
		return nil, fmt.Errorf("idworker: %w", err)
	}
	past, err := s.past.bound(business)
	if err != nil {
		return nil, fmt.Errorf("idworker: %w", err)
	}
	return newStream(ids, s.source, past, s.sizes), nil
}

// NextIDAt returns an id for a past time, so that a late event sorts where it belongs. The
// id carries one of the Config.Reserved highest worker ids, which are never lent. It is
// unique across processes and restarts: the database counts such ids for each span of time.
//
// Each reserved worker id has 2^sequence_bits ids for a tick and at least 8,192 for a second
// of the past, spread over the second, unless the layout itself has fewer. Each call runs
// one statement, or a few for a span of time that has no ids yet. A worker and its Streams
// make one call at a time. NextIDAt works once the worker has borrowed a worker id, even if
// it loses that later.
//
// Times must be at least some minutes after the namespace's first start. Rows older than
// that need Backfill. Package history says which times are safe.
//
// Errors: ErrNoPast, ErrNotStarted, ErrTime, ErrFull, segment.ErrUnknown if the database lost
// the counters while the worker ran, the cause of ctx and errors of the database. On error,
// the id is 0.
func (s *Stream) NextIDAt(ctx context.Context, at time.Time) (int64, error) {
	var dst [1]int64
	err := s.NextIDsAt(ctx, at, dst[:])
	return dst[0], err
}

// NextIDsAt fills dst with ascending ids for one past time, with one reservation. Errors are
// those of NextIDAt. On error, dst is zeroed.
func (s *Stream) NextIDsAt(ctx context.Context, at time.Time, dst []int64) error {
	err := s.past.nextIDsAt(ctx, at, dst)
	if err != nil {
		clear(dst)
	}
	return err
}

// Backfill returns a Stream whose NextIDAt also accepts times before the given one. The
// caller guarantees that no earlier id carries a reserved worker id, except ids that this
// database counted for the same layout. The time of the service's first id satisfies that:
//
//	id, err := worker.Backfill(founded).NextIDAt(ctx, row.CreatedAt)
//
// Nothing checks the guarantee:
//   - If the worker ids were reserved from the service's first start on, it holds for any
//     time.
//   - After a move to another database, it holds only if the table snowlease_segment was
//     copied.
//   - After a restored backup, it holds only for times before any that ids were made for
//     since the backup.
func (s *Stream) Backfill(before time.Time) *Stream {
	return newStream(s.ids, s.source, s.past.backfill(before), s.sizes)
}
