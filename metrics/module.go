package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease"
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
//
// It is an error if Module and Named measure workers of the same namespace and center.
var Module = fx.Module("idworker-metrics", fx.Provide(
	func() workers { return workers{} },
	collectorsOf("idworker.Module", ""),
))

// Named is Module for the worker that idworker.Named provides under the same name.
func Named(name string) fx.Option {
	return fx.Provide(collectorsOf(fmt.Sprintf("idworker.Named(%q)", name), fmt.Sprintf("name:%q", name)))
}

// workers says who provides the workers of a graph that have collectors, by namespace and
// center. Module provides it.
type workers map[[2]string]string

// collectorsOf returns the constructor of the collectors of the worker that provider
// provides with the tag.
func collectorsOf(provider, tag string) any {
	return fx.Annotate(func(w *snowlease.Worker, all workers) ([]prometheus.Collector, error) {
		if w != nil && all != nil {
			st := w.Status()
			key := [2]string{st.Namespace, st.Center}
			if other, ok := all[key]; ok {
				return nil, fmt.Errorf("metrics: %s and %s share namespace %q and center %q: register one yourself, labeled (prometheus.WrapCollectorWith)", other, provider, st.Namespace, st.Center)
			}
			all[key] = provider
		}
		return []prometheus.Collector{NewCollector(w), NewPoolCollector(w, 0)}, nil
	}, fx.ParamTags(tag, `optional:"true"`), fx.ResultTags(`group:"`+Group+`,flatten"`))
}
