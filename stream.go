package snowlease

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/source"
)

// A Stream issues a worker's ids with one business number: see Worker.For. It shares the worker
// id, the sequence and the lifetime of its worker. All methods are safe for concurrent use. The
// zero Stream is not usable.
type Stream struct {
	ids source.Stream
	gen generator.Stream // the same source, if it is a generator.Stream, for direct calls
	of  *Worker
}

// NextID is Worker.NextID for the business number of s.
func (s *Stream) NextID() (id int64, err error) {
	if s.gen != (generator.Stream{}) {
		id, err = s.gen.NextID()
	} else {
		id, err = s.ids.NextID()
	}
	if err != nil {
		return 0, s.of.explain(err)
	}
	return id, nil
}

// NextIDWait is Worker.NextIDWait for the business number of s.
func (s *Stream) NextIDWait(ctx context.Context) (int64, error) {
	id, err := s.ids.NextIDWait(ctx)
	if err != nil {
		return 0, s.of.explain(err)
	}
	return id, nil
}

// NextIDs is Worker.NextIDs for the business number of s.
func (s *Stream) NextIDs(ctx context.Context, dst []int64) error {
	if err := s.ids.NextIDs(ctx, dst); err != nil {
		return s.of.explain(err)
	}
	s.of.sizes.add(len(dst))
	return nil
}

// For returns a Stream with another business number, 0 to 2^BusinessBits - 1 of the layout. Ids
// of one business number ascend. Ids of different business numbers ascend from tick to tick, but
// not within a tick. A number out of range is an error. The methods of the Stream may be called
// before the start; they then return ErrNotStarted.
func (w *Worker) For(business int64) (*Stream, error) {
	ids, err := w.source.For(business)
	if err != nil {
		return nil, fmt.Errorf("snowlease: %w", err)
	}
	gen, _ := ids.(generator.Stream)
	return &Stream{ids, gen, w}, nil
}
