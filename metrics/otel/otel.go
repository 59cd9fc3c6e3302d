// Package otel exports the measures of package metrics to OpenTelemetry, with observable
// instruments.
//
//	registration, err := otel.Register(worker)
//
// It depends only on the API of OpenTelemetry. Measuring adds no work to NextID, and each
// collection reads one snapshot, without I/O. Points of a worker have the attributes
// idworker.namespace and idworker.center.
package otel

import (
	"context"
	"errors"
	"fmt"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics/internal/reading"
)

// scope is the import path, by which OpenTelemetry names instrumentation.
const scope = "github.com/snowlease/snowlease/metrics/otel"

// A Source is a worker to measure. *idworker.IdWorker is one.
type Source = reading.Source

// An Option configures Register and RegisterSegments.
type Option func(*config) error

type config struct {
	provider metric.MeterProvider
	pool     *reading.Pool
}

// WithMeterProvider sets the destination of the measures. Default: the API's
// otel.GetMeterProvider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) error {
		if p == nil {
			return errors.New("the meter provider is nil; omit the option to use the global one")
		}
		c.provider = p
		return nil
	}
}

// WithPool adds idworker.pool.used, the number of worker ids that the worker may borrow
// and that are not free. metrics.NewPoolCollector documents its cost and every. Default:
// not measured.
func WithPool(lister lease.Lister, every time.Duration) Option {
	return func(c *config) (err error) {
		c.pool, err = reading.NewPool(lister, every)
		return err
	}
}

// Register observes w until Unregister is called on the registration. Workers of one
// namespace and center need a provider each, since their attributes are equal. Register
// fails on a nil worker, an invalid option, and errors of the provider.
func Register(w Source, opts ...Option) (metric.Registration, error) {
	if p, ok := w.(*idworker.IdWorker); w == nil || ok && p == nil {
		return nil, errors.New("otel: the worker is nil")
	}
	c := config{provider: api.GetMeterProvider()}
	for _, o := range opts {
		if err := o(&c); err != nil {
			return nil, fmt.Errorf("otel: %w", err)
		}
	}
	meter := c.provider.Meter(scope)
	var (
		errs        []error
		instruments []metric.Observable
		observe     []func(context.Context, metric.Observer, reading.Reading)
	)
	st := w.Status()
	labels := []attribute.KeyValue{attribute.String("idworker.namespace", st.Namespace), attribute.String("idworker.center", st.Center)}
	attrs := metric.WithAttributeSet(attribute.NewSet(labels...))
	for _, m := range reading.Measures() {
		inst, err := instrument(meter, m.OTel, m.Help, m.Unit, m.Counter)
		errs, instruments = append(errs, err), append(instruments, inst)
		if m.Label == "" {
			m.Values = []string{""}
		}
		for _, value := range m.Values {
			attrs := attrs
			if m.Label != "" {
				attrs = metric.WithAttributeSet(attribute.NewSet(append(labels[:2:2], attribute.String("idworker."+m.Label, value))...))
			}
			observe = append(observe, func(_ context.Context, o metric.Observer, r reading.Reading) {
				if v, ok := m.Value(r, value); ok {
					o.ObserveFloat64(inst, v, attrs)
				}
			})
		}
	}
	if c.pool != nil {
		used, err := meter.Int64ObservableGauge("idworker.pool.used", metric.WithDescription(reading.PoolUsedHelp), metric.WithUnit("{worker}"))
		errs, instruments = append(errs, err), append(instruments, used)
		observe = append(observe, func(ctx context.Context, o metric.Observer, _ reading.Reading) {
			if n, err := c.pool.Used(ctx, st); err == nil {
				o.ObserveInt64(used, int64(n), attrs)
			}
		})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	reg, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		r := reading.Of(w)
		for _, f := range observe {
			f(ctx, o, r)
		}
		return nil
	}, instruments...)
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return reg, nil
}
