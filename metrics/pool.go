package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/fault"
)

const (
	poolEvery   = time.Minute     // how long a count is valid
	poolTimeout = 2 * time.Second // of a query, because a scrape waits for it
	poolRetry   = 5 * time.Second // before another query after a failure of the center
)

// NewPoolCollector returns a collector of the number of worker ids that are not free, among the
// worker ids that w may borrow. It is safe for concurrent use.
//
// A scrape queries the center for the whole pool if the last query is older than one minute, and
// otherwise repeats the last result. The query times out after 2 s. If the center fails, there is
// no series, and the first scrape at least 5 s later queries the center again.
//
// There is no series for a worker without slots (mode redis-sequence, snowlease.Fixed).
// Registration fails if w is nil.
func NewPoolCollector(w *snowlease.Worker) prometheus.Collector { return newPool(w) }

func newPool(w worker) prometheus.Collector {
	if fault.Nil(w) {
		return refused("worker")
	}
	st := w.Status()
	p := &pool{lister: w, ids: st.Pool}
	used := gauge("idworker_pool_used",
		"Worker ids, of those that this process may borrow, that are lent, or were not given back and are not yet free. Absent while the center does not answer.",
		(*pool).count)
	return labeled(st, collector[*pool]{described([]measure[*pool]{used}), func(send func(*pool, ...string)) { send(p) }})
}

type pool struct {
	lister worker
	ids    snowlease.Pool // does not change

	mu    sync.Mutex // held during a query of the center
	until time.Time  // the end of the validity of n and err
	n     int
	err   error
}

// count returns the count, or false if the center failed. It queries the center again if the
// count is older than poolEvery, or the failure older than poolRetry.
func (p *pool) count() (float64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until) {
		return float64(p.n), p.err == nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), poolTimeout)
	defer cancel()
	slots, err := p.lister.Slots(ctx)
	p.n, p.err, p.until = 0, err, time.Now().Add(poolEvery)
	if err != nil {
		p.until = time.Now().Add(poolRetry)
	}
	for _, s := range slots {
		// After a loss, marks without a holder lie ahead of the clock; their worker ids can be lent.
		used := s.Expires >= s.Now || s.Holder != "" && s.HighWater >= s.Now
		if used && s.Worker >= p.ids.First && s.Worker <= p.ids.Last {
			p.n++
		}
	}
	return float64(p.n), err == nil
}
