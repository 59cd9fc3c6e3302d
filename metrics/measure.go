package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/numbers"
)

// A measure is one number of an S: a reading of a worker, or the status of a segment.
type measure[S any] struct {
	name, help string
	kind       prometheus.ValueType
	// label makes one series for each of its values. Without a label there is one series.
	label  string
	values []string
	// value returns the number for a value of label, or false if there is none.
	value func(s S, label string) (float64, bool)
	desc  *prometheus.Desc // set by described
}

// gauge returns a measure that rises and falls. It may be absent.
func gauge[S any](name, help string, value func(S) (float64, bool)) measure[S] {
	return measure[S]{name: name, help: help, kind: prometheus.GaugeValue, value: func(s S, _ string) (float64, bool) { return value(s) }}
}

// counter returns a measure that never falls.
func counter[S any](name, help string, value func(S) int64) measure[S] {
	return measure[S]{name: name, help: help, kind: prometheus.CounterValue, value: func(s S, _ string) (float64, bool) { return float64(value(s)), true }}
}

// described describes the series of all measures. The values of labels differ between readings;
// constant holds the labels whose values do not.
func described[S any](measures []measure[S], labels []string, constant prometheus.Labels) []measure[S] {
	for i, m := range measures {
		names := labels
		if m.label != "" {
			names = append(names, m.label)
		}
		measures[i].desc = prometheus.NewDesc(m.name, m.help, names, constant)
	}
	return measures
}

// collect sends the values that s has. labels are the values for the labels of described.
func (m measure[S]) collect(ch chan<- prometheus.Metric, s S, labels ...string) {
	if m.label == "" {
		if v, ok := m.value(s, ""); ok {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
		}
		return
	}
	for _, l := range m.values {
		if v, ok := m.value(s, l); ok {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, append(labels, l)...)
		}
	}
}

// A reading is a snapshot of a worker, from which all its measures are taken.
type reading struct {
	snowlease.Status
	issuing   bool
	now, ends time.Time
}

// read reads w once.
func read(w worker) reading {
	return reading{w.Status(), w.Healthy() == nil, time.Now(), w.Layout().Ends()}
}

// workerMeasures returns all measures of a worker.
func workerMeasures() []measure[reading] {
	return []measure[reading]{
		{
			name: "idworker_state", help: "1 for the state that the worker is in, 0 for the others.", kind: prometheus.GaugeValue, label: "idworker_state",
			values: []string{
				string(snowlease.StateNotStarted), string(snowlease.StateQuarantined), string(snowlease.StateReady), string(snowlease.StateBorrowing),
				string(snowlease.StateExpired), string(snowlease.StateStopped), string(snowlease.StateUnavailable),
			},
			value: func(r reading, state string) (float64, bool) { return bit(string(r.State) == state), true },
		},
		counter("idworker_ids_total", "Ids issued by this process.", func(r reading) int64 { return r.Issued }),
		{
			name: "idworker_batches_total", help: "Calls of NextIDs, by the number of ids.", kind: prometheus.CounterValue, label: "idworker_size",
			values: []string{"1-10", "11-100", "101-1000", "1001+"},
			value: func(r reading, size string) (float64, bool) {
				b := r.Batches
				return float64(map[string]int64{"1-10": b.UpTo10, "11-100": b.UpTo100, "101-1000": b.UpTo1000, "1001+": b.More}[size]), true
			},
		},
		gauge("idworker_lead_seconds",
			"Seconds by which the last id is ahead of the clock. In a burst up to max_ahead, where callers wait. More while the clock catches up after a quarantine.",
			func(r reading) (float64, bool) { return r.Lead.Seconds(), true }),
		gauge("idworker_worker_id",
			"The worker id in ids. Absent before the first one is borrowed, and in mode redis-sequence, where all processes share one.",
			func(r reading) (float64, bool) { return float64(r.Worker), r.Worker >= 0 && r.Sequence == nil }),
		gauge("idworker_issuing", "1 while the process issues ids, else 0.",
			func(r reading) (float64, bool) { return bit(r.issuing), true }),
		gauge("idworker_ids_stop_in_seconds",
			"Seconds until ids stop unless the lease is renewed, negative after they have stopped. Absent without a lease.",
			func(r reading) (float64, bool) {
				return r.Ceiling.Sub(r.Now).Seconds(), !r.Ceiling.IsZero() && r.State != snowlease.StateStopped
			}),
		// This is not a timestamp, so that alerts do not depend on the difference between the
		// clocks of this host and of Prometheus.
		gauge("idworker_failing_seconds", "Seconds since all attempts to borrow or renew fail, 0 if the last one succeeded.",
			func(r reading) (float64, bool) { return since(r.FailingSince, r.now), true }),
		counter("idworker_lease_losses_total", "Leases lost. After each the process borrows another worker id.",
			func(r reading) int64 { return r.Losses }),
		{
			name: "idworker_renewals_total", help: "Successful renewals (ok), and failed attempts to renew or borrow except lost leases (failed).",
			kind: prometheus.CounterValue, label: "idworker_result", values: []string{"ok", "failed"},
			value: func(r reading, result string) (float64, bool) {
				return float64(map[string]int64{"ok": r.Renewals, "failed": r.Failures}[result]), true
			},
		},
		counter("idworker_waits_total", "Calls that waited because a burst ran ahead of the clock or the lease had expired.",
			func(r reading) int64 { return r.Waits }),
		gauge("idworker_pool_size", "Worker ids that this process may borrow. Absent without a pool (mode redis-sequence).",
			func(r reading) (float64, bool) { return float64(r.Pool.Last - r.Pool.First + 1), r.Sequence == nil }),
		gauge("idworker_layout_expiry_seconds", "Seconds until the time field of the ids runs out.",
			func(r reading) (float64, bool) { return r.ends.Sub(r.now).Seconds(), true }),
		sequence("idworker_sequence_calls_total", "Calls to Redis for ids, in mode redis-sequence.",
			prometheus.CounterValue, func(s snowlease.Sequence) int64 { return s.Calls }),
		sequence("idworker_sequence_reserved_total", "Ids reserved in Redis, issued or not, in mode redis-sequence.",
			prometheus.CounterValue, func(s snowlease.Sequence) int64 { return s.Reserved }),
		sequence("idworker_sequence_at_hand", "Ids reserved and not yet issued, in mode redis-sequence.",
			prometheus.GaugeValue, func(s snowlease.Sequence) int64 { return s.AtHand }),
	}
}

// sequence returns a measure that only mode redis-sequence has.
func sequence(name, help string, kind prometheus.ValueType, value func(snowlease.Sequence) int64) measure[reading] {
	m := gauge(name, help, func(r reading) (float64, bool) {
		if r.Sequence == nil {
			return 0, false
		}
		return float64(value(*r.Sequence)), true
	})
	m.kind = kind
	return m
}

// segmentMeasures returns all measures of a segment.
func segmentMeasures() []measure[numbers.Status] {
	return []measure[numbers.Status]{
		gauge("idworker_segment_issuing", "1 while the segment issues numbers, else 0.",
			func(st numbers.Status) (float64, bool) { return bit(st.State == numbers.StateReady), true }),
		gauge("idworker_segment_failing_seconds", "Seconds since all reservations in the store fail, 0 if the last one succeeded.",
			func(st numbers.Status) (float64, bool) { return since(st.FailingSince, time.Now()), true }),
		gauge("idworker_segment_remaining", "Numbers reserved and not yet issued. Always 0 in strict order.",
			func(st numbers.Status) (float64, bool) { return float64(st.Remaining), true }),
		counter("idworker_segment_issued_total", "Numbers issued by this process.",
			func(st numbers.Status) int64 { return st.Issued }),
		counter("idworker_segment_reservations_total", "Successful reservations of numbers in the store.",
			func(st numbers.Status) int64 { return st.Reservations }),
		counter("idworker_segment_failures_total", "Failed reservations: the store did not answer, or answered with an error.",
			func(st numbers.Status) int64 { return st.Failures }),
		counter("idworker_segment_waits_total", "Calls that waited for the store because no numbers were reserved.",
			func(st numbers.Status) int64 { return st.Waits }),
		gauge("idworker_segment_used_ratio", "The largest number that this process reserved, as a fraction of max. Absent before the first reservation.",
			func(st numbers.Status) (float64, bool) { return float64(st.Last) / float64(st.Max), st.Last > 0 }),
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// since returns the seconds from t to now, 0 if t is zero.
func since(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return now.Sub(t).Seconds()
}
