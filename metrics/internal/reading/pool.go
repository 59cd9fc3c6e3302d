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

// DefaultPoolEvery is how old the count of a Pool may get by default.
const DefaultPoolEvery = time.Minute

// poolTimeout bounds a count, since a collection waits for it.
const poolTimeout = 2 * time.Second

// A Pool counts the worker ids that a worker may borrow and that are not free. It is safe
// for concurrent use. Its calls of the center do not overlap.
type Pool struct {
	lister lease.Lister
	every  time.Duration

	mu      sync.Mutex // held while the center is asked
	counted time.Time
	n       int
	err     error
}

// The name and help text of a Pool's count.
const (
	PoolUsed     = "idworker_pool_used"
	PoolUsedHelp = "Worker ids, of those that this process may borrow, that are lent or not yet free after their lease. Absent while the center does not answer."
)

// NewPool returns a Pool that calls lister at most once per every; 0 means
// DefaultPoolEvery. It fails if lister is nil.
func NewPool(lister lease.Lister, every time.Duration) (*Pool, error) {
	if lister == nil {
		return nil, errors.New("the center is nil; pass one that lists its slots, such as those of dbseq, redisseq and hostseq")
	}
	return &Pool{lister: lister, every: cmp.Or(every, DefaultPoolEvery)}, nil
}

// Used returns the count for w, or its error. It counts again if the last count is too
// old.
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
