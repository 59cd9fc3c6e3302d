package metrics

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/metrics/internal/reading"
)

// NewCollector returns a collector of one or more workers. It is safe for concurrent use.
//
// Workers of one namespace and center, such as those that For makes, need a collector
// each. Distinguish them by a label with prometheus.WrapCollectorWith, which all
// collectors of the registry then need.
//
// Registering the collector fails if a worker is nil, or if two workers have the same
// namespace and center. If these two have a collector each, without such a label, it fails
// with a prometheus.AlreadyRegisteredError, which names neither of them.
func NewCollector(first snowlease.Monitored, more ...snowlease.Monitored) prometheus.Collector {
	c := &collector{measures: reading.Measures()}
	seen := map[[2]string]bool{}
	workers := append([]snowlease.Monitored{first}, more...)
	for i, w := range workers {
		if reading.IsNil(w) {
			return invalid{fmt.Errorf("metrics: worker %d of %d is nil", i+1, len(workers))}
		}
		st := w.Status()
		key := [2]string{st.Namespace, st.Center}
		if seen[key] {
			return invalid{fmt.Errorf("metrics: two workers of namespace %q and center %q: register each with a label (prometheus.WrapCollectorWith)", st.Namespace, st.Center)}
		}
		seen[key] = true
		labels := labelsOf(st)
		s := source{worker: w}
		for _, m := range c.measures {
			s.descs = append(s.descs, prometheus.NewDesc(m.Name, m.Help, names(m), labels))
		}
		c.sources = append(c.sources, s)
	}
	return c
}

// labelsOf returns the labels of all series of a worker, which do not change.
func labelsOf(st snowlease.Status) prometheus.Labels {
	return prometheus.Labels{reading.Label(reading.Namespace): st.Namespace, reading.Label(reading.Center): st.Center}
}

type collector struct {
	measures []reading.Measure
	sources  []source
}

type source struct {
	worker snowlease.Monitored
	descs  []*prometheus.Desc // of the collector's measures, in their order
}

// Describe sends the descriptions of all series.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.sources {
		for _, d := range s.descs {
			ch <- d
		}
	}
}

// Collect sends one snapshot of each worker.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.sources {
		r := reading.Of(s.worker)
		for i, m := range c.measures {
			kind := prometheus.GaugeValue
			if m.Counter {
				kind = prometheus.CounterValue
			}
			for _, labels := range values(m) {
				if v, ok := m.Value(r, strings.Join(labels, "")); ok {
					ch <- prometheus.MustNewConstMetric(s.descs[i], kind, v, labels...)
				}
			}
		}
	}
}

// names returns the names of m's labels, of which there are none or one.
func names(m reading.Measure) []string {
	if m.Label == "" {
		return nil
	}
	return []string{reading.Label(m.Label)}
}

// values returns the label values of each series of m.
func values(m reading.Measure) [][]string {
	if m.Label == "" {
		return [][]string{nil}
	}
	all := make([][]string, len(m.Values))
	for i, v := range m.Values {
		all[i] = []string{v}
	}
	return all
}

// invalid is a collector whose registration fails with err.
type invalid struct{ err error }

func (c invalid) Describe(ch chan<- *prometheus.Desc) { ch <- prometheus.NewInvalidDesc(c.err) }

func (c invalid) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(c.err), c.err)
}
