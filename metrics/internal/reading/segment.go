package reading

import (
	"github.com/snowlease/snowlease/segment"
)

// A SegmentMeasure is one number of a segment.
type SegmentMeasure struct {
	Name    string // in the manner of Prometheus
	OTel    string // in that of OpenTelemetry
	Unit    string // UCUM
	Help    string
	Counter bool // never falls
	// Value returns the number, or false where there is none at the moment.
	Value func(segment.Status) (float64, bool)
}

// SegmentMeasures are all measures of a segment.
func SegmentMeasures() []SegmentMeasure {
	count := func(value func(segment.Status) int64) func(segment.Status) (float64, bool) {
		return func(st segment.Status) (float64, bool) { return float64(value(st)), true }
	}
	return []SegmentMeasure{
		{
			Name: "idworker_segment_ready", OTel: "idworker.segment.ready", Unit: "1",
			Help:  "1 while the segment issues numbers, else 0.",
			Value: func(st segment.Status) (float64, bool) { return bit(st.State == segment.StateReady), true },
		},
		{
			Name: "idworker_segment_remaining", OTel: "idworker.segment.remaining", Unit: "{number}",
			Help:  "Numbers that are reserved and not issued; 0 in strict order.",
			Value: count(func(st segment.Status) int64 { return st.Remaining }),
		},
		{
			Name: "idworker_segment_issued_total", OTel: "idworker.segment.issued", Unit: "{number}", Counter: true,
			Help:  "Numbers issued by this process.",
			Value: count(func(st segment.Status) int64 { return st.Issued }),
		},
		{
			Name: "idworker_segment_reservations_total", OTel: "idworker.segment.reservations", Unit: "{reservation}", Counter: true,
			Help:  "Answers of the store with numbers.",
			Value: count(func(st segment.Status) int64 { return st.Reservations }),
		},
		{
			Name: "idworker_segment_failures_total", OTel: "idworker.segment.failures", Unit: "{reservation}", Counter: true,
			Help:  "Reservations without an answer, or with an error.",
			Value: count(func(st segment.Status) int64 { return st.Failures }),
		},
		{
			Name: "idworker_segment_waits_total", OTel: "idworker.segment.waits", Unit: "{call}", Counter: true,
			Help:  "Calls that had to wait for the store because nothing was reserved.",
			Value: count(func(st segment.Status) int64 { return st.Waits }),
		},
		{
			Name: "idworker_segment_used_ratio", OTel: "idworker.segment.used", Unit: "1",
			Help:  "The greatest number that the store gave this process, as a part of the greatest there may be (max). Absent before the first.",
			Value: func(st segment.Status) (float64, bool) { return float64(st.Last) / float64(st.Max), st.Last > 0 },
		},
	}
}
