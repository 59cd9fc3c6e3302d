// Package otel exports the measures of package metrics to OpenTelemetry, with observable
// instruments.
//
//	registration, err := otel.Register(worker)
//
// It depends only on the API of OpenTelemetry. Measuring adds no work to NextID, and each
// collection reads one snapshot, without I/O; RegisterPool adds a query of the center.
//
// Points of a worker have the attributes idworker.namespace and idworker.center. In
// Prometheus, metrics and attributes have the names that package metrics gives them, such as
// idworker_namespace, so the alert rules and the dashboard suit both packages.
package otel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics/internal/reading"
)

// scope is the import path, by which OpenTelemetry names instrumentation.
const scope = "github.com/snowlease/snowlease/metrics/otel"

// An Option configures Register, RegisterPool and RegisterSegments. A nil Option is ignored.
type Option func(*instruments) error

// WithMeterProvider sets the destination of the measures. Default: the API's
// otel.GetMeterProvider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(i *instruments) error {
		if p == nil {
			return errors.New("the meter provider is nil; omit the option to use the global one")
		}
		i.meter = p.Meter(scope)
		return nil
	}
}

// Register observes w until Unregister is called on the registration. Workers of one
// namespace and center need a provider each, since their attributes are equal. Register
// fails on a nil worker, an invalid option, and errors of the provider.
func Register(w snowlease.Monitored, opts ...Option) (metric.Registration, error) {
	i, err := prepare("worker", w, opts)
	if err != nil {
		return nil, err
	}
	labels := labelsOf(w)
	var observe []func(metric.Observer, reading.Reading)
	for _, m := range reading.Measures() {
		inst := i.add(m.OTel, m.Help, m.Unit, m.Counter)
		if m.Label == "" {
			m.Values = []string{""}
		}
		for _, value := range m.Values {
			of := slices.Clone(labels)
			if m.Label != "" {
				of = append(of, attribute.String(m.Label, value))
			}
			attrs := metric.WithAttributeSet(attribute.NewSet(of...))
			observe = append(observe, func(o metric.Observer, r reading.Reading) {
				if v, ok := m.Value(r, value); ok {
					o.ObserveFloat64(inst, v, attrs)
				}
			})
		}
	}
	return i.register(func(_ context.Context, o metric.Observer) error {
		r := reading.Of(w) //nolint:contextcheck // reads variables
		for _, f := range observe {
			f(o, r)
		}
		return nil
	})
}

// RegisterPool observes idworker.pool.used, the number of worker ids that w may borrow and
// that are not free. metrics.NewPoolCollector documents its cost and every. Workers and
// errors are as in Register.
func RegisterPool(w interface {
	snowlease.Monitored
	lease.Lister
}, every time.Duration, opts ...Option,
) (metric.Registration, error) {
	i, err := prepare("worker", w, opts)
	if err != nil {
		return nil, err
	}
	used := i.add("idworker.pool.used", reading.PoolUsedHelp, "{worker}", false)
	attrs := metric.WithAttributeSet(attribute.NewSet(labelsOf(w)...))
	p := reading.NewPool(w.Status(), w, every)
	return i.register(func(ctx context.Context, o metric.Observer) error {
		if n, err := p.Used(ctx); err == nil {
			o.ObserveFloat64(used, float64(n), attrs)
		}
		return nil
	})
}

func labelsOf(w snowlease.Monitored) []attribute.KeyValue {
	st := w.Status()
	return []attribute.KeyValue{attribute.String(reading.Namespace, st.Namespace), attribute.String(reading.Center, st.Center)}
}

// instruments collects the instruments of a registration, and their errors.
type instruments struct {
	meter metric.Meter
	all   []metric.Observable
	errs  []error
}

// prepare returns the instruments for source, or an error if it is nil.
func prepare(what string, source any, opts []Option) (*instruments, error) {
	if reading.IsNil(source) {
		return nil, fmt.Errorf("otel: nil %s", what)
	}
	i := &instruments{meter: api.GetMeterProvider().Meter(scope)}
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(i); err != nil {
			return nil, fmt.Errorf("otel: %w", err)
		}
	}
	return i, nil
}

func (i *instruments) add(name, help, unit string, counter bool) (inst metric.Float64Observable) {
	var err error
	if counter {
		inst, err = i.meter.Float64ObservableCounter(name, metric.WithDescription(help), metric.WithUnit(unit))
	} else {
		inst, err = i.meter.Float64ObservableGauge(name, metric.WithDescription(help), metric.WithUnit(unit))
	}
	i.all, i.errs = append(i.all, inst), append(i.errs, err)
	return inst
}

func (i *instruments) register(observe metric.Callback) (metric.Registration, error) {
	err := errors.Join(i.errs...)
	if err == nil {
		var reg metric.Registration
		if reg, err = i.meter.RegisterCallback(observe, i.all...); err == nil {
			return reg, nil
		}
	}
	return nil, fmt.Errorf("otel: %w", err)
}
