// Otel pushes the metrics of a worker by OTLP, through OpenTelemetry's bridge for Prometheus.
//
//	cd examples/more && OTEL_SERVICE_NAME=shop OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 go run ./otel
package main

import (
	"context"
	"errors"
	"log"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/metrics/metricsfx"
)

func main() {
	dir, err := filepath.Abs("otel.local")
	if err != nil {
		log.Fatal(err)
	}
	exporter, err := otlpmetrichttp.New(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fx.New(wiring(exporter, dir)).Run()
}

type collectors struct {
	fx.In

	All []prometheus.Collector `group:"metrics-collectors"`
}

// wiring returns an application that pushes the metrics of its worker to exporter, every
// minute and at the end. dir holds the host's records.
func wiring(exporter metric.Exporter, dir string) fx.Option {
	return fx.Options(
		fx.Supply(idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Dir: dir}}),
		idworker.Module,
		metricsfx.Module,
		fx.Invoke(func(c collectors, lc fx.Lifecycle) error {
			registry := prometheus.NewRegistry()
			var errs []error
			for _, one := range c.All {
				errs = append(errs, registry.Register(one))
			}
			producer := bridge.NewMetricProducer(bridge.WithGatherer(registry))
			provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter, metric.WithProducer(producer))))
			lc.Append(fx.StopHook(provider.Shutdown))
			return errors.Join(errs...)
		}),
	)
}
