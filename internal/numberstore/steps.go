package numberstore

import (
	"cmp"
	"time"
)

// Steps determines how the size of segments follows the rate.
type Steps struct {
	Min, Max int64         // bounds of a size
	Cover    time.Duration // how long a segment should last
	Fresh    bool          // sizes shrink immediately, because numbers grow old
}

// WithDefaults returns s with its defaults applied, and applies the default of first, the first
// size.
func (s Steps) WithDefaults(first *int64) Steps {
	if *first == 0 { // 100, or the nearest value between Min and Max
		*first = max(100, s.Min)
		if s.Max != 0 {
			*first = min(*first, s.Max)
		}
	}
	s.Min = cmp.Or(s.Min, min(10, *first))
	s.Max = cmp.Or(s.Max, max(1_000_000, *first))
	s.Cover = cmp.Or(s.Cover, 10*time.Second)
	return s
}

// Next returns the size of the next segment, after a segment of step numbers of which used were
// issued within the given time. At that rate, the next segment should last for Cover. Its size is
// at most eight times step, at least half of step unless Fresh is set, and within Min and Max.
// Sizes grow faster than they shrink, because a small segment makes callers wait, while a large
// one only leaves a gap.
func (s Steps) Next(step, used int64, in time.Duration) int64 {
	if used > 0 || s.Fresh {
		want := float64(used) * float64(s.Cover) / float64(max(in, 1))
		if !s.Fresh {
			want = max(want, float64(step)/2)
		}
		step = int64(min(want, float64(step)*8, MaxReservation))
	}
	return min(max(step, s.Min), s.Max)
}
