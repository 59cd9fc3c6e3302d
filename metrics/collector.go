package metrics

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// NewCollector returns a collector of one or more workers. It is safe for concurrent use.
//
// Workers of the same namespace and center, such as a worker and its For, need a collector
// each. Distinguish the collectors by a label with prometheus.WrapCollectorWith. All collectors
// of the registry then need that label.
//
// Registering the collector fails if a worker is nil, or if two workers have the same namespace
// and center. If two such workers have a collector each, without a label, it fails with a
// prometheus.AlreadyRegisteredError, which does not name them.
func NewCollector(first *snowlease.Worker, more ...*snowlease.Worker) prometheus.Collector {
	var all []worker
	for i, w := range append([]*snowlease.Worker{first}, more...) {
		if w == nil {
			return invalid{fmt.Errorf("metrics: worker %d of %d is nil", i+1, len(more)+1)}
		}
		all = append(all, w)
	}
	return newCollector(all...)
}

// A worker is a *snowlease.Worker. Its methods return immediately, except Slots.
type worker interface {
	Status() snowlease.Status
	Healthy() error
	Layout() snowflake.Layout
	Slots(ctx context.Context) ([]lease.Slot, error)
}

func newCollector(workers ...worker) prometheus.Collector {
	c := new(collector)
	seen := map[[2]string]bool{}
	for _, w := range workers {
		st := w.Status()
		key := [2]string{st.Namespace, st.Center}
		if seen[key] {
			return invalid{fmt.Errorf("metrics: two workers of namespace %q and center %q: register each with a label (prometheus.WrapCollectorWith)", st.Namespace, st.Center)}
		}
		seen[key] = true
		c.sources = append(c.sources, source{w, seriesOf(workerMeasures(), nil, labelsOf(st))})
	}
	return c
}

// labelsOf returns the labels of all series of a worker. They are constant.
func labelsOf(st snowlease.Status) prometheus.Labels {
	return prometheus.Labels{"idworker_namespace": st.Namespace, "idworker_center": st.Center}
}

type collector struct{ sources []source }

type source struct {
	worker worker
	series []series[reading]
}

// Describe sends the descriptions of all series.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, from := range c.sources {
		for _, s := range from.series {
			ch <- s.desc
		}
	}
}

// Collect sends one snapshot of each worker.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, from := range c.sources {
		r := read(from.worker)
		for _, s := range from.series {
			s.collect(ch, r)
		}
	}
}

// invalid is a collector whose registration fails with err.
type invalid struct{ err error }

func (c invalid) Describe(ch chan<- *prometheus.Desc) { ch <- prometheus.NewInvalidDesc(c.err) }

func (c invalid) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(c.err), c.err)
}
