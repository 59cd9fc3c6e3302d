package otel

import (
	"context"
	"errors"
	"fmt"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/metrics/internal/reading"
)

// RegisterSegments observes the open segments of s until Unregister is called on the
// registration. Points have the attributes idworker.segment and idworker.segment.store.
// RegisterSegments fails on nil segments, an invalid option, the option WithPool, and
// errors of the provider.
func RegisterSegments(s *idworker.Segments, opts ...Option) (metric.Registration, error) {
	if s == nil {
		return nil, errors.New("otel: the segments are nil")
	}
	c := config{provider: api.GetMeterProvider()}
	for _, o := range opts {
		if err := o(&c); err != nil {
			return nil, fmt.Errorf("otel: %w", err)
		}
	}
	if c.pool != nil {
		return nil, errors.New("otel: segments have no pool; pass WithPool to Register instead")
	}
	meter := c.provider.Meter(scope)
	measures := reading.SegmentMeasures()
	var errs []error
	var instruments []metric.Observable
	var typed []metric.Float64Observable
	for _, m := range measures {
		inst, err := instrument(meter, m.OTel, m.Help, m.Unit, m.Counter)
		errs, instruments, typed = append(errs, err), append(instruments, inst), append(typed, inst)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	reg, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, st := range s.Status() {
			attrs := metric.WithAttributes(attribute.String("idworker.segment", st.Name), attribute.String("idworker.segment.store", st.Store))
			for i, m := range measures {
				if v, ok := m.Value(st); ok {
					o.ObserveFloat64(typed[i], v, attrs)
				}
			}
		}
		return nil
	}, instruments...)
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return reg, nil
}

func instrument(meter metric.Meter, name, help, unit string, counter bool) (metric.Float64Observable, error) {
	if counter {
		return meter.Float64ObservableCounter(name, metric.WithDescription(help), metric.WithUnit(unit))
	}
	return meter.Float64ObservableGauge(name, metric.WithDescription(help), metric.WithUnit(unit))
}
