package metrics

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

// NewCollector returns a collector of a worker. It is safe for concurrent use.
//
// Workers of the same namespace and center, such as a worker and its For, need collectors that
// differ in a label: see prometheus.WrapCollectorWith. All collectors of the registry then need
// that label. Without it, registering the second one fails with a
// prometheus.AlreadyRegisteredError. Registration also fails if w is nil.
func NewCollector(w *snowlease.Worker) prometheus.Collector { return newCollector(w) }

// A worker is a *snowlease.Worker. Its methods return immediately, except Slots.
type worker interface {
	Status() snowlease.Status
	Healthy() error
	Layout() snowflake.Layout
	Slots(ctx context.Context) ([]lease.Slot, error)
}

func newCollector(w worker) prometheus.Collector {
	if fault.Nil(w) {
		return refused("worker")
	}
	return labeled(w.Status(), collector[reading]{described(workerMeasures()), func(send func(reading, ...string)) { send(read(w)) }})
}

// labeled adds the labels of all series of a worker. They are constant.
func labeled(st snowlease.Status, c prometheus.Collector) prometheus.Collector {
	return prometheus.WrapCollectorWith(prometheus.Labels{"idworker_namespace": st.Namespace, "idworker_center": st.Center}, c)
}

// NewSegmentCollector returns a collector of open segments, with the labels
// idworker_segment_name and idworker_segment_store. Before the application has started, there
// are no segments. The collector is safe for concurrent use. It calls s.Status concurrently,
// which must return immediately. If s is nil, registration fails.
//
// With fx, put it into the group of metricsfx:
//
//	fx.Provide(fx.Annotate(metrics.NewSegmentCollector, fx.From(new(*idworker.Numbers)), fx.ResultTags(`group:"metrics-collectors"`)))
//
// The application then opens the segments when it starts, even if nothing else uses them.
func NewSegmentCollector(s interface{ Status() []numbers.Status }) prometheus.Collector {
	if fault.Nil(s) {
		return refused("source of segments")
	}
	all := described(segmentMeasures(), "idworker_segment_name", "idworker_segment_store")
	return collector[numbers.Status]{all, func(send func(numbers.Status, ...string)) {
		for _, st := range s.Status() {
			send(st, st.Name, st.Store)
		}
	}}
}

// A collector sends all measures of each S that read passes to send, with the values for the labels
// of described.
type collector[S any] struct {
	measures []measure[S]
	read     func(send func(s S, labels ...string))
}

// refused returns a collector that cannot be registered, because the part to collect from is nil.
func refused(part string) prometheus.Collector {
	err := fmt.Errorf("metrics: the %s to collect from is nil", part)
	return collector[int]{[]measure[int]{{desc: prometheus.NewInvalidDesc(err)}}, func(func(int, ...string)) {}}
}

// Describe sends the descriptions of all series.
func (c collector[S]) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.measures {
		ch <- m.desc
	}
}

// Collect sends one snapshot.
func (c collector[S]) Collect(ch chan<- prometheus.Metric) {
	c.read(func(s S, labels ...string) {
		for _, m := range c.measures {
			if v, ok := m.value(s); ok {
				ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
			}
		}
	})
}
