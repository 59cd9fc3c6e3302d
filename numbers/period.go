package numbers

import "time"

// A Period is the period after which the numbers of a Series start over.
type Period string

// The periods.
const (
	none    Period = "none"
	Day     Period = "day"
	Week    Period = "week" // ISO 8601, from Monday
	Month   Period = "month"
	Quarter Period = "quarter"
	Year    Period = "year"
)

// periods are how long each period is, what a printed number begins with by default, and the parts
// of a format that distinguish periods, of which a format needs one of each element.
var periods = map[Period]struct {
	months, days int
	before       string
	tells        [][]string
}{
	none:    {},
	Day:     {0, 1, "{20060102}-", [][]string{{"2006", "06", "FY", "FY-1"}, {"01"}, {"02"}}},
	Week:    {0, 7, "{2006}W{W}-", [][]string{{"2006", "06"}, {"W"}}},
	Month:   {1, 0, "{200601}-", [][]string{{"2006", "06", "FY", "FY-1"}, {"01"}}},
	Quarter: {3, 0, "{2006}Q{Q}-", [][]string{{"2006", "06", "FY", "FY-1"}, {"Q", "01"}}},
	Year:    {12, 0, "{2006}-", [][]string{{"2006", "06", "FY", "FY-1"}}},
}

// begin returns the first day of the period of a time, at midnight UTC. It is zero without
// periods.
func (p plan) begin(at time.Time) time.Time {
	year, month, day := at.Date()
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	switch p.cfg.Period {
	case none:
		return time.Time{}
	case Week:
		return date.AddDate(0, 0, -(int(date.Weekday())+6)%7)
	case Month:
		return date.AddDate(0, 0, 1-day)
	case Quarter:
		_, first := p.quarter(date)
		return first
	case Year:
		return p.year(date)
	default:
		return date
	}
}

// year returns the first day of the fiscal year of a date.
func (p plan) year(date time.Time) time.Time {
	first := time.Date(date.Year(), p.starts.Month(), p.starts.Day(), 0, 0, 0, 0, time.UTC)
	if first.After(date) {
		first = first.AddDate(-1, 0, 0)
	}
	return first
}

// quarter returns the quarter of the fiscal year of a date, from 1 on, and its first day.
func (p plan) quarter(date time.Time) (n int, first time.Time) {
	n, first = 1, p.year(date)
	for next := first.AddDate(0, 3, 0); !next.After(date); next = next.AddDate(0, 3, 0) {
		n, first = n+1, next
	}
	return n, first
}

// after returns the first day of the next period.
func (p Period) after(begin time.Time) time.Time {
	return begin.AddDate(0, periods[p].months, periods[p].days)
}

// midnight returns when a date begins in a zone. If the clocks skip midnight, the date begins
// later.
func midnight(date time.Time, zone *time.Location) time.Time {
	year, month, day := date.Date()
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	for range 4 {
		if t.Day() == day {
			break
		}
		t = t.Add(30 * time.Minute)
	}
	return t
}

// base returns the number before the first number of a period: the digits of its first day, and ten
// zeros.
func base(begin time.Time) int64 {
	if begin.IsZero() {
		return 0
	}
	year, month, day := begin.Date()
	return int64(year*10_000+int(month)*100+day) * perPeriod
}

// beginOf returns the first day of the period of a number.
func beginOf(number int64) time.Time {
	date := int(number / perPeriod)
	if date == 0 {
		return time.Time{}
	}
	return time.Date(date/10_000, time.Month(date/100%100), date%100, 0, 0, 0, 0, time.UTC)
}
