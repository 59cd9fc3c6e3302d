package snowlease

import "sync/atomic"

// Batches counts successful calls of NextIDs by how many ids they returned. Calls with an
// empty slice are not counted.
type Batches struct {
	UpTo10   int64 `json:"up_to_10"`
	UpTo100  int64 `json:"up_to_100"`
	UpTo1000 int64 `json:"up_to_1000"`
	More     int64 `json:"more"`
}

// batches is shared by a worker and all its Streams.
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

func (b *batches) load() Batches {
	return Batches{b.upTo10.Load(), b.upTo100.Load(), b.upTo1000.Load(), b.more.Load()}
}
