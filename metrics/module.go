package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/idworker"
)

// Group is the fx value group that collectors are put into. Who takes it registers
// them:
//
//	type Params struct {
//		fx.In
//		Collectors []prometheus.Collector `group:"metrics-collectors"`
//	}
const Group = "metrics-collectors"

// Module puts the collectors of the graph's *idworker.IdWorker and of its pool into
// Group: see NewCollector and NewPoolCollector, which asks the center once a minute. It
// invokes nothing: where nobody takes the group, no worker is made. Taking it makes the
// worker, which then borrows a worker id at the start even if nobody asks for ids.
var Module = fx.Module("idworker-metrics", fx.Provide(fx.Annotate(collect, fx.ResultTags(`group:"`+Group+`,flatten"`))))

// Named is Module for the worker of idworker.Named.
func Named(name string) fx.Option {
	return fx.Provide(fx.Annotate(collect,
		fx.ParamTags(fmt.Sprintf("name:%q", name)), fx.ResultTags(`group:"`+Group+`,flatten"`)))
}

func collect(w *idworker.IdWorker) []prometheus.Collector {
	return []prometheus.Collector{NewCollector(w), NewPoolCollector(w, w, 0)}
}
