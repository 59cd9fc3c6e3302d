package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics/internal/reading"
)

// NewPoolCollector returns a collector of the number of worker ids that w may borrow and
// that are not free. It is safe for concurrent use.
//
// A scrape queries the center for the whole pool if the last query is older than every,
// and otherwise repeats its result; 0 means a minute. The scrape waits for the center for
// up to 2 s. If the center fails, there is no series, and a scrape at least 5 s later
// queries it again.
//
// A worker without slots (mode redis-sequence, snowlease.Fixed) has no series. Registering
// the collector fails if w is nil.
func NewPoolCollector(w interface {
	snowlease.Monitored
	lease.Lister
}, every time.Duration,
) prometheus.Collector {
	if reading.IsNil(w) {
		return invalid{errors.New("metrics: pool: the worker is nil")}
	}
	st := w.Status()
	return &pool{reading.NewPool(st, w, every), prometheus.NewDesc(reading.PoolUsed, reading.PoolUsedHelp, nil, labelsOf(st))}
}

type pool struct {
	*reading.Pool
	used *prometheus.Desc
}

// Describe sends the description of the count.
func (p *pool) Describe(ch chan<- *prometheus.Desc) { ch <- p.used }

// Collect sends the count.
func (p *pool) Collect(ch chan<- prometheus.Metric) {
	if n, err := p.Used(context.Background()); err == nil {
		ch <- prometheus.MustNewConstMetric(p.used, prometheus.GaugeValue, float64(n))
	}
}
