// Package reading defines the measures of workers and segments for all monitoring systems.
package reading

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/snowlease/snowlease"
)

// The attributes of all points of a worker, and of a segment.
const (
	Namespace = "idworker.namespace"
	Center    = "idworker.center"
	Segment   = "idworker.segment.name"
	Store     = "idworker.segment.store"
)

// Label returns the name that an attribute of OpenTelemetry has as a label in Prometheus.
func Label(attribute string) string { return strings.ReplaceAll(attribute, ".", "_") }

// A Reading is a snapshot of a worker, from which all measures are taken.
type Reading struct {
	snowlease.Status
	issuing   bool
	now, ends time.Time
}

// Of reads w once.
func Of(w snowlease.Monitored) Reading {
	return Reading{w.Status(), w.Healthy(context.Background()) == nil, time.Now(), w.Layout().Ends()}
}

// IsNil reports whether a worker or segments are nil, or a nil pointer.
func IsNil(v any) bool {
	p := reflect.ValueOf(v)
	return !p.IsValid() || p.Kind() == reflect.Pointer && p.IsNil()
}

// A Measure is one number of a reading.
type Measure struct {
	Name    string // for Prometheus
	OTel    string // for OpenTelemetry
	Unit    string // UCUM; "1" is that of a fraction, which exporters call a ratio
	Help    string
	Counter bool // never falls
	// Label, an attribute, and its Values make one series per value. Without a Label there is
	// one series.
	Label  string
	Values []string
	// Value returns the number for a value of Label, and whether there is one.
	Value func(r Reading, label string) (float64, bool)
}

// Measures returns all measures of a worker.
func Measures() []Measure {
	return []Measure{
		{
			Name: "idworker_state", OTel: "idworker.state", Label: "idworker.state",
			Values: []string{
				string(snowlease.StateNotStarted), string(snowlease.StateQuarantined), string(snowlease.StateReady), string(snowlease.StateBorrowing),
				string(snowlease.StateExpired), string(snowlease.StateStopped), string(snowlease.StateUnavailable),
			},
			Help:  "1 for the state that the worker is in, 0 for the others.",
			Value: func(r Reading, state string) (float64, bool) { return bit(string(r.State) == state), true },
		},
		{
			Name: "idworker_ids_total", OTel: "idworker.ids", Unit: "{id}", Counter: true,
			Help:  "Ids issued by this process.",
			Value: func(r Reading, _ string) (float64, bool) { return float64(r.Issued), true },
		},
		{
			Name: "idworker_batches_total", OTel: "idworker.batches", Unit: "{batch}", Counter: true, Label: "idworker.size", Values: []string{"1-10", "11-100", "101-1000", "1001+"},
			Help: "Calls of NextIDs, by the number of ids.",
			Value: func(r Reading, size string) (float64, bool) {
				b := r.Batches
				return float64(map[string]int64{"1-10": b.UpTo10, "11-100": b.UpTo100, "101-1000": b.UpTo1000, "1001+": b.More}[size]), true
			},
		},
		{
			Name: "idworker_lead_seconds", OTel: "idworker.lead", Unit: "s",
			Help:  "Seconds by which the last id is ahead of the clock. In a burst up to max_ahead, where callers wait. More while the clock catches up after a quarantine.",
			Value: func(r Reading, _ string) (float64, bool) { return r.Lead.Seconds(), true },
		},
		{
			Name: "idworker_worker_id", OTel: "idworker.worker.id",
			Help: "The worker id in ids. Absent before the first one is borrowed, and in mode redis-sequence, where all processes share one.",
			Value: func(r Reading, _ string) (float64, bool) {
				return float64(r.Worker), r.Worker >= 0 && r.Sequence == nil
			},
		},
		{
			Name: "idworker_issuing", OTel: "idworker.issuing",
			Help:  "1 while the process issues ids, else 0.",
			Value: func(r Reading, _ string) (float64, bool) { return bit(r.issuing), true },
		},
		{
			Name: "idworker_ids_stop_in_seconds", OTel: "idworker.ids_stop_in", Unit: "s",
			Help: "Seconds until ids stop unless the lease is renewed, negative after they have stopped. Absent without a lease.",
			Value: func(r Reading, _ string) (float64, bool) {
				return r.Ceiling.Sub(r.Now).Seconds(), !r.Ceiling.IsZero() && r.State != snowlease.StateStopped
			},
		},
		{
			// Not a timestamp: an alert on it must not depend on how this host's clock differs
			// from that of Prometheus.
			Name: "idworker_failing_seconds", OTel: "idworker.failing", Unit: "s",
			Help: "Seconds since all attempts to borrow or renew fail, 0 if the last one succeeded.",
			Value: func(r Reading, _ string) (float64, bool) {
				if r.FailingSince.IsZero() {
					return 0, true
				}
				return r.now.Sub(r.FailingSince).Seconds(), true
			},
		},
		{
			Name: "idworker_lease_losses_total", OTel: "idworker.lease.losses", Unit: "{lease}", Counter: true,
			Help:  "Leases lost. After each the process borrows another worker id.",
			Value: func(r Reading, _ string) (float64, bool) { return float64(r.Losses), true },
		},
		{
			Name: "idworker_renewals_total", OTel: "idworker.renewals", Unit: "{renewal}", Counter: true, Label: "idworker.result", Values: []string{"ok", "failed"},
			Help: "Successful renewals (ok), and failed attempts to renew or borrow except lost leases (failed).",
			Value: func(r Reading, result string) (float64, bool) {
				if result == "ok" {
					return float64(r.Renewals), true
				}
				return float64(r.Failures), true
			},
		},
		{
			Name: "idworker_waits_total", OTel: "idworker.waits", Unit: "{call}", Counter: true,
			Help:  "Calls that waited because a burst ran ahead of the clock or the lease had expired.",
			Value: func(r Reading, _ string) (float64, bool) { return float64(r.Waits), true },
		},
		{
			Name: "idworker_pool_size", OTel: "idworker.pool.size", Unit: "{worker}",
			Help: "Worker ids that this process may borrow. Absent without a pool (mode redis-sequence).",
			Value: func(r Reading, _ string) (float64, bool) {
				return float64(r.Pool.Last - r.Pool.First + 1), r.Sequence == nil
			},
		},
		{
			Name: "idworker_layout_expiry_seconds", OTel: "idworker.layout.expiry", Unit: "s",
			Help:  "Seconds until the time field of the ids runs out.",
			Value: func(r Reading, _ string) (float64, bool) { return r.ends.Sub(r.now).Seconds(), true },
		},
		sequence("idworker_sequence_calls_total", "idworker.sequence.calls", "{call}", true,
			"Calls to Redis for ids, in mode redis-sequence.", func(s *snowlease.Sequence) int64 { return s.Calls }),
		sequence("idworker_sequence_reserved_total", "idworker.sequence.reserved", "{id}", true,
			"Ids reserved in Redis, issued or not, in mode redis-sequence.", func(s *snowlease.Sequence) int64 { return s.Reserved }),
		sequence("idworker_sequence_at_hand", "idworker.sequence.at_hand", "{id}", false,
			"Ids reserved and not yet issued, in mode redis-sequence.", func(s *snowlease.Sequence) int64 { return s.AtHand }),
	}
}

// sequence returns a measure that only mode redis-sequence has.
func sequence(name, otel, unit string, counter bool, help string, value func(*snowlease.Sequence) int64) Measure {
	return Measure{Name: name, OTel: otel, Unit: unit, Help: help, Counter: counter, Value: func(r Reading, _ string) (float64, bool) {
		if r.Sequence == nil {
			return 0, false
		}
		return float64(value(r.Sequence)), true
	}}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
