package printable

import "time"

// The bounds of the results of Time. Times after the year 9999 have no JSON form, in any zone.
const (
	first = -62135596800000 // the zero time.Time
	last  = 253402214399999 // 9999-12-30 23:59:59.999 UTC
)

// Time returns the time of Unix milliseconds, or the nearest time that has a JSON form. A record
// may have any number.
func Time(ms int64) time.Time { return time.UnixMilli(min(max(ms, first), last)) }
