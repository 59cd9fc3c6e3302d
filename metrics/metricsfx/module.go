// Package metricsfx puts the collectors of package metrics into a graph of fx.
package metricsfx

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/metrics"
)

// Group is the fx value group of the collectors. The application registers them:
//
//	type Params struct {
//		fx.In
//		Collectors []prometheus.Collector `group:"metrics-collectors"`
//	}
const Group = "metrics-collectors"

// Module puts the collectors of the graph's *idworker.IdWorker and its pool into Group. See
// metrics.NewCollector, and metrics.NewPoolCollector, which queries the center once per minute.
// Module invokes nothing. If the application uses Group, fx builds the worker, which borrows a
// worker id at start even if nothing else uses it.
//
// Registration fails with a prometheus.AlreadyRegisteredError if Module and Named collect from
// workers of the same namespace and center: register one of the collectors yourself, with a
// label (prometheus.WrapCollectorWith).
var Module = fx.Module("idworker-metrics", fx.Provide(collectorsOf("")))

// Named is Module for the worker that idworker.Named provides under the same name.
func Named(name string) fx.Option {
	return fx.Provide(collectorsOf(fmt.Sprintf("name:%q", name)))
}

// collectorsOf returns the constructor of the collectors for the worker with the tag.
func collectorsOf(tag string) any {
	return fx.Annotate(func(w *snowlease.Worker) []prometheus.Collector {
		return []prometheus.Collector{metrics.NewCollector(w), metrics.NewPoolCollector(w)}
	}, fx.ParamTags(tag), fx.ResultTags(`group:"`+Group+`,flatten"`))
}
