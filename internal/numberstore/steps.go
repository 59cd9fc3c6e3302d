package numberstore

import "time"

// Steps says how the size of segments follows the rate.
type Steps struct {
	Min, Max int64         // bounds of a size
	Cover    time.Duration // how long a segment should last
	Fresh    bool          // sizes shrink at once, because numbers grow old
}

// Next returns the size of the next segment, after one of step numbers of which used were
// issued within the given time. The next segment should last for Cover at that rate. It is
// at most eight times and, unless Fresh, at least half of step, and within Min and Max. Sizes
// grow faster than they shrink, because a small segment makes callers wait, while a large one
// only leaves a gap.
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
