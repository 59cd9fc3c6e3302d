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
	// value returns the number, or false if there is none.
	value func(S) (float64, bool)
	label prometheus.Labels // distinguishes the measures of one name
	desc  *prometheus.Desc  // set by described
}

// gauge returns a measure that rises and falls. It may be absent.
func gauge[S any](name, help string, value func(S) (float64, bool)) measure[S] {
	return measure[S]{name: name, help: help, kind: prometheus.GaugeValue, value: value}
}

// counter returns a measure that never falls.
func counter[S any](name, help string, value func(S) int64) measure[S] {
	return measure[S]{name: name, help: help, kind: prometheus.CounterValue, value: func(s S) (float64, bool) { return float64(value(s)), true }}
}

// with returns m as the measure for one value of a label.
func (m measure[S]) with(label, value string) measure[S] {
	m.label = prometheus.Labels{label: value}
	return m
}

// described describes the series of all measures. The values of labels differ between readings.
func described[S any](measures []measure[S], labels ...string) []measure[S] {
	for i, m := range measures {
		measures[i].desc = prometheus.NewDesc(m.name, m.help, labels, m.label)
	}
	return measures
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
	const (
		batches  = "Calls of NextIDs, by the number of ids."
		renewals = "Successful renewals (ok), and failed attempts to renew or borrow except lost leases (failed)."
	)
	all := []measure[reading]{
		counter("idworker_ids_total", "Ids issued by this process.", func(r reading) int64 { return r.Issued }),
		counter("idworker_batches_total", batches, func(r reading) int64 { return r.Batches.UpTo10 }).with("idworker_size", "1-10"),
		counter("idworker_batches_total", batches, func(r reading) int64 { return r.Batches.UpTo100 }).with("idworker_size", "11-100"),
		counter("idworker_batches_total", batches, func(r reading) int64 { return r.Batches.UpTo1000 }).with("idworker_size", "101-1000"),
		counter("idworker_batches_total", batches, func(r reading) int64 { return r.Batches.More }).with("idworker_size", "1001+"),
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
		counter("idworker_renewals_total", renewals, func(r reading) int64 { return r.Renewals }).with("idworker_result", "ok"),
		counter("idworker_renewals_total", renewals, func(r reading) int64 { return r.Failures }).with("idworker_result", "failed"),
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
	for _, state := range []snowlease.State{
		snowlease.StateNotStarted, snowlease.StateQuarantined, snowlease.StateReady, snowlease.StateBorrowing,
		snowlease.StateExpired, snowlease.StateStopped, snowlease.StateUnavailable,
	} {
		all = append(all, gauge("idworker_state", "1 for the state that the worker is in, 0 for the others.",
			func(r reading) (float64, bool) { return bit(r.State == state), true }).with("idworker_state", string(state)))
	}
	return all
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
