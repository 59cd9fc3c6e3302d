package reading

import (
	"time"

	"github.com/snowlease/snowlease/numbers/segment"
)

// A SegmentMeasure is one number of a segment.
type SegmentMeasure struct {
	Name    string // for Prometheus
	OTel    string // for OpenTelemetry
	Unit    string // as in Measure
	Help    string
	Counter bool // never falls
	// Value returns the number, and whether there is one.
	Value func(segment.Status) (float64, bool)
}

// SegmentMeasures returns all measures of a segment.
func SegmentMeasures() []SegmentMeasure {
	count := func(value func(segment.Status) int64) func(segment.Status) (float64, bool) {
		return func(st segment.Status) (float64, bool) { return float64(value(st)), true }
	}
	return []SegmentMeasure{
		{
			Name: "idworker_segment_issuing", OTel: "idworker.segment.issuing",
			Help:  "1 while the segment issues numbers, else 0.",
			Value: func(st segment.Status) (float64, bool) { return bit(st.State == segment.StateReady), true },
		},
		{
			Name: "idworker_segment_failing_seconds", OTel: "idworker.segment.failing", Unit: "s",
			Help: "Seconds since all reservations in the store fail, 0 if the last one succeeded.",
			Value: func(st segment.Status) (float64, bool) {
				if st.FailingSince.IsZero() {
					return 0, true
				}
				return time.Since(st.FailingSince).Seconds(), true
			},
		},
		{
			Name: "idworker_segment_remaining", OTel: "idworker.segment.remaining", Unit: "{number}",
			Help:  "Numbers reserved and not yet issued. Always 0 in strict order.",
			Value: count(func(st segment.Status) int64 { return st.Remaining }),
		},
		{
			Name: "idworker_segment_issued_total", OTel: "idworker.segment.issued", Unit: "{number}", Counter: true,
			Help:  "Numbers issued by this process.",
			Value: count(func(st segment.Status) int64 { return st.Issued }),
		},
		{
			Name: "idworker_segment_reservations_total", OTel: "idworker.segment.reservations", Unit: "{reservation}", Counter: true,
			Help:  "Successful reservations of numbers in the store.",
			Value: count(func(st segment.Status) int64 { return st.Reservations }),
		},
		{
			Name: "idworker_segment_failures_total", OTel: "idworker.segment.failures", Unit: "{reservation}", Counter: true,
			Help:  "Failed reservations: the store did not answer, or answered with an error.",
			Value: count(func(st segment.Status) int64 { return st.Failures }),
		},
		{
			Name: "idworker_segment_waits_total", OTel: "idworker.segment.waits", Unit: "{call}", Counter: true,
			Help:  "Calls that waited for the store because no numbers were reserved.",
			Value: count(func(st segment.Status) int64 { return st.Waits }),
		},
		{
			Name: "idworker_segment_used_ratio", OTel: "idworker.segment.used", Unit: "1",
			Help:  "The largest number that this process reserved, as a fraction of max. Absent before the first reservation.",
			Value: func(st segment.Status) (float64, bool) { return float64(st.Last) / float64(st.Max), st.Last > 0 },
		},
	}
}
