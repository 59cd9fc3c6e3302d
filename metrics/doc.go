// Package metrics shows what a worker does to Prometheus: ids issued, the lease and
// how long it lasts, the lead over the clock, losses, and the pool of the namespace.
//
//	registry.MustRegister(metrics.NewCollector(worker))
//
// Nothing is registered by itself. Counting adds no work to NextID, and a scrape reads
// one snapshot, without I/O. NewPoolCollector adds how full the pool is, for one query of
// the center a minute. With fx, Module puts both into the group "metrics-collectors".
// NewSegmentCollector shows the numbers of Config.Segments, by the labels segment and
// store. Package metrics/otel does the same for OpenTelemetry.
//
// All other series have the labels namespace and center. A worker without a center
// (idworker.Fixed) has no series of a lease.
//
// Alert rules and a Grafana dashboard are in the repository's folder deploy/dashboards.
package metrics
