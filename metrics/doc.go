// Package metrics exports the state of workers to Prometheus: whether they issue ids, when ids
// stop, how long renewals have failed, the number of ids issued, and the lead over the clock.
//
//	err := registry.Register(metrics.NewCollector(worker))
//
// The metrics add no work to NextID. A scrape reads one snapshot of each worker, without I/O.
//
// NewPoolCollector adds the use of the namespace's worker ids, and queries the center once per
// minute. NewSegmentCollector adds the numbers of idworker's Config.Segments. With fx,
// metricsfx.Module puts the collectors of workers and pools into the group "metrics-collectors".
// OpenTelemetry reads a registry through its bridge,
// go.opentelemetry.io/contrib/bridges/prometheus, as in examples/more/otel of the repository. Its
// service.name and service.instance.id become the labels job and instance of the alert rules.
//
// Series of segments have the labels idworker_segment_name and idworker_segment_store. All
// other series have idworker_namespace and idworker_center, because a label "namespace" would
// clash with the label that Prometheus gives to targets in Kubernetes. A worker without a
// center (snowlease.Fixed) has no series about a lease.
//
// The repository has alert rules and a Grafana dashboard in deploy/dashboards.
package metrics
