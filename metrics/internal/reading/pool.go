package reading

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

// DefaultPoolEvery is how old the count of a pool may be by default.
const DefaultPoolEvery = time.Minute

// poolTimeout bounds a count, which is part of a collection.
const poolTimeout = 2 * time.Second

// A Pool counts the worker ids that are not free, of those that a worker may borrow. It
// is safe for concurrent use, and asks the center once at a time.
type Pool struct {
	lister lease.Lister
	every  time.Duration

	mu      sync.Mutex // held while the center is asked
	counted time.Time
	n       int
	err     error
}

// The name and help of what a Pool counts.
const (
	PoolUsed     = "idworker_pool_used"
	PoolUsedHelp = "Of the worker ids that this process may borrow, those that are lent, or not yet free after a holder's end. Absent while the center does not answer."
)

// NewPool returns a pool that asks lister at most once in every; 0 is DefaultPoolEvery.
func NewPool(lister lease.Lister, every time.Duration) (*Pool, error) {
	if lister == nil {
		return nil, errors.New("the center is nil: pass one that lists its slots, as those of dbseq, redisseq and local do")
	}
	return &Pool{lister: lister, every: cmp.Or(every, DefaultPoolEvery)}, nil
}

// Used returns what the last count for w found, or its error; it counts anew where that
// one is too old.
func (p *Pool) Used(ctx context.Context, w idworker.Status) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.counted.IsZero() && time.Since(p.counted) < p.every {
		return p.n, p.err
	}
	ctx, cancel := context.WithTimeout(ctx, poolTimeout)
	defer cancel()
	slots, err := p.lister.Slots(ctx, w.Namespace)
	p.counted, p.n, p.err = time.Now(), 0, err
	for _, s := range slots {
		if !s.Free() && s.Worker >= w.Pool.First && s.Worker <= w.Pool.Last {
			p.n++
		}
	}
	return p.n, p.err
}
