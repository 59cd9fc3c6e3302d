package metrics_test

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/metrics"
)

// The application registers the collectors, and serves its registry with promhttp.
func Example() {
	worker, err := snowlease.Fixed(3, snowlease.Config{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = worker.Close() }()

	registry := prometheus.NewRegistry()
	if err := registry.Register(metrics.NewCollector(worker)); err != nil {
		panic(err)
	}

	if _, err := worker.NextID(); err != nil {
		panic(err)
	}
	fmt.Println(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP idworker_ids_total Ids issued by this process.
# TYPE idworker_ids_total counter
idworker_ids_total{idworker_center="fixed",idworker_namespace="local"} 1
`), "idworker_ids_total"))
	// Output: <nil>
}
