package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease"
)

// poolEvery is how long a count is valid.
const poolEvery = time.Minute

// poolTimeout bounds a query, because a scrape waits for it.
const poolTimeout = 2 * time.Second

// poolRetry is how long the collector waits after a failure of the center before it queries
// again.
const poolRetry = 5 * time.Second

// NewPoolCollector returns a collector of the number of worker ids that are not free, among the
// worker ids that w may borrow. It is safe for concurrent use.
//
// A scrape queries the center for the whole pool if the last query is older than one minute, and
// otherwise repeats the last result. The query times out after 2 s. If the center fails, there is
// no series, and the first scrape at least 5 s later queries the center again.
//
// There is no series for a worker without slots (mode redis-sequence, snowlease.Fixed).
func NewPoolCollector(w *snowlease.Worker) prometheus.Collector { return newPool(w) }

func newPool(w worker) *pool {
	st := w.Status()
	return &pool{lister: w, worker: st, used: prometheus.NewDesc("idworker_pool_used",
		"Worker ids, of those that this process may borrow, that are lent, or were not given back and are not yet free. Absent while the center does not answer.",
		nil, labelsOf(st))}
}

type pool struct {
	lister worker
	worker snowlease.Status // holds the namespace and the pool, which do not change
	used   *prometheus.Desc

	mu    sync.Mutex // held during a query of the center
	until time.Time  // the end of the validity of n and err
	n     int
	err   error
}

// Describe sends the description of the count.
func (p *pool) Describe(ch chan<- *prometheus.Desc) { ch <- p.used }

// Collect sends the count.
func (p *pool) Collect(ch chan<- prometheus.Metric) {
	if n, err := p.count(); err == nil {
		ch <- prometheus.MustNewConstMetric(p.used, prometheus.GaugeValue, float64(n))
	}
}

// count returns the count or the center's error. It queries the center again if the count is
// older than poolEvery, or the error older than poolRetry.
func (p *pool) count() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until) {
		return p.n, p.err
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
		if used && s.Worker >= p.worker.Pool.First && s.Worker <= p.worker.Pool.Last {
			p.n++
		}
	}
	return p.n, p.err
}
