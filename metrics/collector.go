package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// NewCollector returns a collector of a worker. It is safe for concurrent use.
//
// Workers of the same namespace and center, such as a worker and its For, need collectors that
// differ in a label: see prometheus.WrapCollectorWith. All collectors of the registry then need
// that label. Without it, registering the second one fails with a
// prometheus.AlreadyRegisteredError.
func NewCollector(w *snowlease.Worker) prometheus.Collector { return newCollector(w) }

// A worker is a *snowlease.Worker. Its methods return immediately, except Slots.
type worker interface {
	Status() snowlease.Status
	Healthy() error
	Layout() snowflake.Layout
	Slots(ctx context.Context) ([]lease.Slot, error)
}

func newCollector(w worker) prometheus.Collector {
	return &collector{w, seriesOf(workerMeasures(), nil, labelsOf(w.Status()))}
}

// labelsOf returns the labels of all series of a worker. They are constant.
func labelsOf(st snowlease.Status) prometheus.Labels {
	return prometheus.Labels{"idworker_namespace": st.Namespace, "idworker_center": st.Center}
}

type collector struct {
	worker worker
	series []series[reading]
}

// Describe sends the descriptions of all series.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.series {
		ch <- s.desc
	}
}

// Collect sends one snapshot of the worker.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	r := read(c.worker)
	for _, s := range c.series {
		s.collect(ch, r)
	}
}
