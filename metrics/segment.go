package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease/numbers"
)

// NewSegmentCollector returns a collector of open segments, with the labels
// idworker_segment_name and idworker_segment_store. Before the application has started, there
// are no segments. The collector is safe for concurrent use. It calls s.Status concurrently,
// which must return immediately.
//
// With fx, put it into the group of metricsfx:
//
//	fx.Provide(fx.Annotate(metrics.NewSegmentCollector, fx.From(new(*idworker.Numbers)), fx.ResultTags(`group:"metrics-collectors"`)))
//
// The application then opens the segments when it starts, even if nothing else uses them.
func NewSegmentCollector(s interface{ Status() []numbers.Status }) prometheus.Collector {
	return &segments{s, seriesOf(segmentMeasures(), []string{"idworker_segment_name", "idworker_segment_store"}, nil)}
}

type segments struct {
	all    interface{ Status() []numbers.Status }
	series []series[numbers.Status]
}

// Describe sends the descriptions of all series.
func (c *segments) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.series {
		ch <- s.desc
	}
}

// Collect sends one snapshot of each segment.
func (c *segments) Collect(ch chan<- prometheus.Metric) {
	for _, st := range c.all.Status() {
		for _, s := range c.series {
			s.collect(ch, st, st.Name, st.Store)
		}
	}
}
