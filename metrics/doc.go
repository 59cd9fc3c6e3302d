// Package metrics exports the state of workers to Prometheus: whether they issue ids, when
// ids stop, for how long renewals have failed, ids issued, and the lead over the clock.
//
//	err := registry.Register(metrics.NewCollector(worker))
//
// Counting adds no work to NextID. A scrape reads one snapshot, without I/O.
//
// NewPoolCollector adds the use of the namespace's worker ids, for one query of the center
// per minute. NewSegmentCollector adds the numbers of idworker's Config.Segments. With fx,
// metricsfx.Module puts the first two collectors into the group "metrics-collectors". OpenTelemetry
// reads a registry through its bridge, go.opentelemetry.io/contrib/bridges/prometheus, as in
// examples/more/otel of the repository. Its service.name and service.instance.id become the
// labels job and instance of the alert rules.
//
// Series of segments have the labels idworker_segment_name and idworker_segment_store, all
// others idworker_namespace and idworker_center. A label "namespace" would clash with the
// one that Prometheus gives to targets in Kubernetes. A worker without a center
// (snowlease.Fixed) has no series of a lease.
//
// The repository has alert rules and a Grafana dashboard in deploy/dashboards.
package metrics
