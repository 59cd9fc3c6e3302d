package snowlease

import (
	"math"
	"sync/atomic"
)

// Batches counts successful calls of NextIDs by the number of ids returned. Calls with an empty
// slice are not counted.
type Batches struct {
	UpTo10   int64 `json:"up_to_10"`
	UpTo100  int64 `json:"up_to_100"`
	UpTo1000 int64 `json:"up_to_1000"`
	More     int64 `json:"more"`
}

// batches is shared by a worker and all its Streams.
type batches [4]atomic.Int64

func (b *batches) add(ids int) {
	for i, most := range [...]int{10, 100, 1000, math.MaxInt} {
		if ids > 0 && ids <= most {
			b[i].Add(1)
			return
		}
	}
}

func (b *batches) load() Batches { return Batches{b[0].Load(), b[1].Load(), b[2].Load(), b[3].Load()} }
