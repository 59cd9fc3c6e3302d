package metrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics/internal/reading"
)

// NewPoolCollector returns a collector of the number of worker ids that w may borrow and
// that are not free. It is safe for concurrent use.
//
// A scrape queries the center for the whole pool if the last query is older than every,
// and otherwise repeats its result; 0 means a minute. The scrape waits for the
// center for up to 2 s. There is no series while the center does not answer.
//
// An *idworker.IdWorker is a lister, and so are the centers of dbseq, redisseq and
// hostseq. A worker without slots (mode redis-sequence, idworker.Fixed) has no series.
// Registering the collector fails if w or lister is nil.
func NewPoolCollector(w Source, lister lease.Lister, every time.Duration) prometheus.Collector {
	if isNil(w) {
		return invalid{errors.New("metrics: pool: the worker is nil")}
	}
	p, err := reading.NewPool(lister, every)
	if err != nil {
		return invalid{fmt.Errorf("metrics: pool: %w", err)}
	}
	st := w.Status()
	return &pool{p, st, prometheus.NewDesc(reading.PoolUsed, reading.PoolUsedHelp, nil, labelsOf(st))}
}

type pool struct {
	*reading.Pool
	worker idworker.Status // for its namespace and pool, which do not change
	used   *prometheus.Desc
}

// Describe sends the description of the count.
func (p *pool) Describe(ch chan<- *prometheus.Desc) { ch <- p.used }

// Collect sends the count.
func (p *pool) Collect(ch chan<- prometheus.Metric) {
	if n, err := p.Used(context.Background(), p.worker); err == nil {
		ch <- prometheus.MustNewConstMetric(p.used, prometheus.GaugeValue, float64(n))
	}
}
