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

// DefaultPoolEvery is how old the count of a pool collector may be by default.
const DefaultPoolEvery = reading.DefaultPoolEvery

// NewPoolCollector returns a collector of how many of the worker ids that w may borrow
// are not free, which costs the center one query of the whole pool. A scrape makes it if
// the last one, good or bad, is older than every, and otherwise shows what that one
// found; 0 is DefaultPoolEvery. While the center does not answer, for which the
// scrape waits 2 s, there is no series. It is safe for concurrent use.
//
// An *idworker.IdWorker is a lister, and so are the centers of dbseq, redisseq and local.
// One that has no slots to list (mode redis-sequence, idworker.Fixed) has no series.
// Registering fails where w or lister is nil.
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
	worker idworker.Status // of its namespace and range, which do not change
	used   *prometheus.Desc
}

// Describe sends what can be collected.
func (p *pool) Describe(ch chan<- *prometheus.Desc) { ch <- p.used }

// Collect sends the count.
func (p *pool) Collect(ch chan<- prometheus.Metric) {
	if n, err := p.Used(context.Background(), p.worker); err == nil {
		ch <- prometheus.MustNewConstMetric(p.used, prometheus.GaugeValue, float64(n))
	}
}
