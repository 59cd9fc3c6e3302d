// Package reading says what is measured of a worker and of segments, for all the systems that measure.
package reading

import (
	"time"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/redisseq/counter"
	"github.com/snowlease/snowlease/snowflake"
)

// A Source is a worker: *idworker.IdWorker is one.
type Source interface {
	Status() idworker.Status
	Ready() bool
	Layout() snowflake.Layout
}

// A Reading is one snapshot of a worker, of which all measures are taken.
type Reading struct {
	idworker.Status
	ready     bool
	now, ends time.Time
}

// Of reads s once.
func Of(s Source) Reading { return Reading{s.Status(), s.Ready(), time.Now(), s.Layout().Ends()} }

// A Measure is one number of a reading.
type Measure struct {
	Name    string // in the manner of Prometheus
	OTel    string // in that of OpenTelemetry
	Unit    string // UCUM
	Help    string
	Counter bool // never falls
	// Label has a series for each of its values; "" and none: there is one series.
	Label  string
	Values []string
	// Value returns the number for a value of Label, or false where there is none at the
	// moment.
	Value func(r Reading, label string) (float64, bool)
}

// Measures are all measures.
func Measures() []Measure {
	return []Measure{
		{
			Name: "idworker_state", OTel: "idworker.state", Unit: "1", Label: "state",
			Values: []string{
				string(idworker.StateNotStarted), string(idworker.StateQuarantined), string(idworker.StateReady), string(idworker.StateBorrowing),
				string(idworker.StateExpired), string(idworker.StateStopped), string(idworker.StateUnavailable),
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
			Name: "idworker_batches_total", OTel: "idworker.batches", Unit: "{batch}", Counter: true, Label: "size", Values: []string{"1-10", "11-100", "101-1000", "1001+"},
			Help: "Calls for several ids at once (NextIDs), by how many they took.",
			Value: func(r Reading, size string) (float64, bool) {
				b := r.Batches
				return float64(map[string]int64{"1-10": b.UpTo10, "11-100": b.UpTo100, "101-1000": b.UpTo1000, "1001+": b.More}[size]), true
			},
		},
		{
			Name: "idworker_lead_seconds", OTel: "idworker.lead", Unit: "s",
			Help:  "How far the last id lies ahead of the clock: up to max_ahead, where callers wait; more while the clock catches up with a quarantine.",
			Value: func(r Reading, _ string) (float64, bool) { return r.Lead.Seconds(), true },
		},
		{
			Name: "idworker_worker_id", OTel: "idworker.worker.id", Unit: "1",
			Help: "The worker id that ids carry. Absent before the first, and where all processes share one (mode redis-sequence).",
			Value: func(r Reading, _ string) (float64, bool) {
				return float64(r.Worker), r.Worker >= 0 && r.Sequence == nil
			},
		},
		{
			Name: "idworker_lease_valid", OTel: "idworker.lease.valid", Unit: "1",
			Help:  "1 while ids are issued, else 0.",
			Value: func(r Reading, _ string) (float64, bool) { return bit(r.ready), true },
		},
		{
			Name: "idworker_lease_expiry_seconds", OTel: "idworker.lease.expiry", Unit: "s",
			Help:  "Seconds until ids stop unless the lease is renewed; negative after that. Absent without a lease.",
			Value: func(r Reading, _ string) (float64, bool) { return r.Ceiling.Sub(r.Now).Seconds(), !r.Ceiling.IsZero() },
		},
		{
			Name: "idworker_lease_losses_total", OTel: "idworker.lease.losses", Unit: "{lease}", Counter: true,
			Help:  "Leases lost, each of which makes the process borrow another worker id.",
			Value: func(r Reading, _ string) (float64, bool) { return float64(r.Losses), true },
		},
		{
			Name: "idworker_renewals_total", OTel: "idworker.renewals", Unit: "{renewal}", Counter: true, Label: "result", Values: []string{"ok", "failed"},
			Help: "Renewals that succeeded, and attempts to renew or to borrow that failed, but for losses.",
			Value: func(r Reading, result string) (float64, bool) {
				if result == "ok" {
					return float64(r.Renewals), true
				}
				return float64(r.Failures), true
			},
		},
		{
			Name: "idworker_waits_total", OTel: "idworker.waits", Unit: "{call}", Counter: true,
			Help:  "Calls that had to wait: for the lead of a burst, or for a lease that had expired.",
			Value: func(r Reading, _ string) (float64, bool) { return float64(r.Waits), true },
		},
		{
			Name: "idworker_renewal_age_seconds", OTel: "idworker.renewal.age", Unit: "s",
			Help:  "Seconds since the center last lent or renewed. Absent before the first time.",
			Value: func(r Reading, _ string) (float64, bool) { return r.now.Sub(r.Renewed).Seconds(), !r.Renewed.IsZero() },
		},
		{
			Name: "idworker_renewal_failing", OTel: "idworker.renewal.failing", Unit: "1",
			Help:  "1 where the last attempt to borrow or renew failed, else 0.",
			Value: func(r Reading, _ string) (float64, bool) { return bit(r.Err != nil), true },
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
			"Calls of Redis for ids, in mode redis-sequence.", func(s *counter.Status) int64 { return s.Calls }),
		sequence("idworker_sequence_reserved_total", "idworker.sequence.reserved", "{id}", true,
			"Ids that Redis gave, issued or not, in mode redis-sequence.", func(s *counter.Status) int64 { return s.Reserved }),
		sequence("idworker_sequence_at_hand", "idworker.sequence.at_hand", "{id}", false,
			"Ids that are reserved and not issued, in mode redis-sequence.", func(s *counter.Status) int64 { return s.AtHand }),
	}
}

// sequence is a measure that only mode redis-sequence has.
func sequence(name, otel, unit string, counter bool, help string, value func(*counter.Status) int64) Measure {
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
