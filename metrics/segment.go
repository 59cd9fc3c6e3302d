package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease/metrics/internal/reading"
	"github.com/snowlease/snowlease/numbers/segment"
)

// NewSegmentCollector returns a collector of open segments, with the labels
// idworker_segment_name and idworker_segment_store. Before the application's start there
// are none. The collector is safe for concurrent use, calls s concurrently, and s must return
// at once. Registering it fails if s is nil.
//
// With fx, put it into Group:
//
//	fx.Provide(fx.Annotate(metrics.NewSegmentCollector, fx.From(new(*idworker.Segments)), fx.ResultTags(`group:"metrics-collectors"`)))
//
// The application then opens the segments at its start, even if nothing else uses them.
func NewSegmentCollector(s interface{ Status() []segment.Status }) prometheus.Collector {
	if reading.IsNil(s) {
		return invalid{errors.New("metrics: the segments are nil")}
	}
	c := &segments{all: s, measures: reading.SegmentMeasures()}
	for _, m := range c.measures {
		c.descs = append(c.descs, prometheus.NewDesc(m.Name, m.Help, []string{reading.Label(reading.Segment), reading.Label(reading.Store)}, nil))
	}
	return c
}

type segments struct {
	all      interface{ Status() []segment.Status }
	measures []reading.SegmentMeasure
	descs    []*prometheus.Desc // of the measures, in their order
}

// Describe sends the descriptions of all series.
func (c *segments) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect sends one snapshot of each segment.
func (c *segments) Collect(ch chan<- prometheus.Metric) {
	for _, st := range c.all.Status() {
		for i, m := range c.measures {
			kind := prometheus.GaugeValue
			if m.Counter {
				kind = prometheus.CounterValue
			}
			if v, ok := m.Value(st); ok {
				ch <- prometheus.MustNewConstMetric(c.descs[i], kind, v, st.Name, st.Store)
			}
		}
	}
}
