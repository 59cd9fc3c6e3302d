package redisseq

import (
	"context"
	"fmt"
)

// A SequenceStream issues ids of one business number of a Sequence. It is a value of
// two words, safe for concurrent use; its methods are those of the Sequence, with the
// same errors and the same cost. The zero SequenceStream is not valid: see
// Sequence.For.
//
// Streams of one Sequence, in whatever process, share its ticks and sequence, so no two
// of their ids agree in both. Ids of one business number rise; those of different ones
// rise from tick to tick.
type SequenceStream struct {
	seq    *Sequence
	prefix int64 // the business number in its place
}

// For returns the stream of a business number, 0 to 2^BusinessBits - 1. The methods of
// the Sequence itself issue for the business number 0.
func (s *Sequence) For(business int64) (SequenceStream, error) {
	if n := int64(1) << s.cfg.Layout.BusinessBits; business < 0 || business >= n {
		return SequenceStream{}, fmt.Errorf("redisseq: business number %d is not 0 to %d, which the layout's %d business bits hold",
			business, n-1, s.cfg.Layout.BusinessBits)
	}
	return SequenceStream{s, business << s.seqBits}, nil
}

// Business returns the business number.
func (s SequenceStream) Business() int64 { return s.prefix >> s.seq.seqBits }

// NextID returns the next id: see Sequence.NextID.
func (s SequenceStream) NextID() (int64, error) {
	id, err := s.seq.NextID()
	if err != nil {
		return 0, err
	}
	return id | s.prefix, nil
}

// NextIDWait returns the next id and waits for it: see Sequence.NextIDWait.
func (s SequenceStream) NextIDWait(ctx context.Context) (int64, error) {
	id, err := s.seq.NextIDWait(ctx)
	if err != nil {
		return 0, err
	}
	return id | s.prefix, nil
}

// NextIDs fills dst: see Sequence.NextIDs.
func (s SequenceStream) NextIDs(ctx context.Context, dst []int64) error {
	if err := s.seq.NextIDs(ctx, dst); err != nil {
		return err
	}
	for i := range dst {
		dst[i] |= s.prefix
	}
	return nil
}
