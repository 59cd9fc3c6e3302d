package reading

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
)

// poolEvery is how old the count of a Pool may get by default.
const poolEvery = time.Minute

// poolTimeout bounds a count, since a collection waits for it.
const poolTimeout = 2 * time.Second

// poolRetry is for how long a failure of the center spares it further queries.
const poolRetry = 5 * time.Second

// A Pool counts the worker ids that a worker may borrow and that are not free. It is safe
// for concurrent use. Its calls of the center do not overlap.
type Pool struct {
	lister lease.Lister
	worker snowlease.Status // for its namespace and pool, which do not change
	every  time.Duration

	mu    sync.Mutex // held while the center is asked
	until time.Time  // for which n and err hold
	n     int
	err   error
}

// The name and help text of a Pool's count.
const (
	PoolUsed     = "idworker_pool_used"
	PoolUsedHelp = "Worker ids, of those that this process may borrow, that are lent, or were not given back and are not yet free. Absent while the center does not answer."
)

// NewPool returns a Pool of w, which calls lister at most once per every; 0 means a minute.
func NewPool(w snowlease.Status, lister lease.Lister, every time.Duration) *Pool {
	return &Pool{lister: lister, worker: w, every: cmp.Or(every, poolEvery)}
}

// Used returns the count or the center's error. It asks the center again if the count is
// older than every, or the error older than 5 s. The end of ctx stands for this call alone.
func (p *Pool) Used(ctx context.Context) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until) {
		return p.n, p.err
	}
	limited, cancel := context.WithTimeout(ctx, poolTimeout)
	defer cancel()
	slots, err := p.lister.Slots(limited, p.worker.Namespace)
	if err != nil && ctx.Err() != nil {
		return 0, err
	}
	p.n, p.err, p.until = 0, err, time.Now().Add(p.every)
	if err != nil {
		p.until = time.Now().Add(min(p.every, poolRetry))
	}
	for _, s := range slots {
		// After a loss, marks without a holder lie ahead of the clock, and ranges above them are lent.
		used := s.Expires >= s.Now || s.Holder != "" && s.Mark >= s.Now
		if used && s.Worker >= p.worker.Pool.First && s.Worker <= p.worker.Pool.Last {
			p.n++
		}
	}
	return p.n, p.err
}
