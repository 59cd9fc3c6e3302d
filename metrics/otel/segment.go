package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/snowlease/snowlease/metrics/internal/reading"
	"github.com/snowlease/snowlease/numbers/segment"
)

// RegisterSegments observes the open segments of s until Unregister is called on the
// registration. Points have the attributes idworker.segment.name and
// idworker.segment.store. RegisterSegments fails on nil segments, an invalid option, and
// errors of the provider. It calls s concurrently, and s must return at once.
func RegisterSegments(s interface{ Status() []segment.Status }, opts ...Option) (metric.Registration, error) {
	i, err := prepare("segments", s, opts)
	if err != nil {
		return nil, err
	}
	measures := reading.SegmentMeasures()
	var typed []metric.Float64Observable
	for _, m := range measures {
		typed = append(typed, i.add(m.OTel, m.Help, m.Unit, m.Counter))
	}
	return i.register(func(_ context.Context, o metric.Observer) error {
		for _, st := range s.Status() {
			attrs := metric.WithAttributes(attribute.String(reading.Segment, st.Name), attribute.String(reading.Store, st.Store))
			for n, m := range measures {
				if v, ok := m.Value(st); ok {
					o.ObserveFloat64(typed[n], v, attrs)
				}
			}
		}
		return nil
	})
}
