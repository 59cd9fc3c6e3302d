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

// Module puts a collector of the graph's *idworker.IdWorker into Group. It invokes
// nothing: where nobody takes the group, no worker is made. Who takes it makes the
// worker, which then borrows a worker id at the start even if nobody asks for ids.
var Module = fx.Module("idworker-metrics", fx.Provide(fx.Annotate(collect, fx.ResultTags(`group:"`+Group+`"`))))

// Named is Module for the worker of idworker.Named.
func Named(name string) fx.Option {
	return fx.Provide(fx.Annotate(collect,
		fx.ParamTags(fmt.Sprintf("name:%q", name)), fx.ResultTags(`group:"`+Group+`"`)))
}

func collect(w *idworker.IdWorker) prometheus.Collector { return NewCollector(w) }
