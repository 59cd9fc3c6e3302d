package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/numbers"
)

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
	all := described(segmentMeasures(), []string{"idworker_segment_name", "idworker_segment_store"}, nil)
	return collector[numbers.Status]{all, func(send func(numbers.Status, ...string)) {
		for _, st := range s.Status() {
			send(st, st.Name, st.Store)
		}
	}}
}
