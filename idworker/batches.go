package idworker

import "sync/atomic"

// Batches counts the calls of NextIDs that filled a slice, by how many ids it took.
type Batches struct {
	UpTo10   int64 `json:"up_to_10"`
	UpTo100  int64 `json:"up_to_100"`
	UpTo1000 int64 `json:"up_to_1000"`
	More     int64 `json:"more"`
}

// batches is what a worker and those made of it by For count together, one addition a
// batch.
type batches struct{ upTo10, upTo100, upTo1000, more atomic.Int64 }

func (b *batches) add(ids int) {
	switch {
	case ids == 0:
	case ids <= 10:
		b.upTo10.Add(1)
	case ids <= 100:
		b.upTo100.Add(1)
	case ids <= 1000:
		b.upTo1000.Add(1)
	default:
		b.more.Add(1)
	}
}

func (b *batches) told() Batches {
	return Batches{b.upTo10.Load(), b.upTo100.Load(), b.upTo1000.Load(), b.more.Load()}
}
