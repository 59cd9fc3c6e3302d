package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/idworker"
)

// Group is the fx value group of the collectors. The application registers them:
//
//	type Params struct {
//		fx.In
//		Collectors []prometheus.Collector `group:"metrics-collectors"`
//	}
const Group = "metrics-collectors"

// Module puts the collectors of the graph's *idworker.IdWorker and its pool into Group.
// See NewCollector and NewPoolCollector, which asks the center once per minute. Module
// invokes nothing. An application that takes the group makes the worker, which borrows a
// worker id at the start even if nothing else uses it.
var Module = fx.Module("idworker-metrics", fx.Provide(fx.Annotate(collect, fx.ResultTags(`group:"`+Group+`,flatten"`))))

// Named is Module for the worker that idworker.Named provides under the same name.
func Named(name string) fx.Option {
	return fx.Provide(fx.Annotate(collect,
		fx.ParamTags(fmt.Sprintf("name:%q", name)), fx.ResultTags(`group:"`+Group+`,flatten"`)))
}

func collect(w *idworker.IdWorker) []prometheus.Collector {
	return []prometheus.Collector{NewCollector(w), NewPoolCollector(w, w, 0)}
}
