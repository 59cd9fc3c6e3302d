package console

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func percent(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) + "%" }

// thousands formats a count with commas: 131,072.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ago formats the distance of t from now, such as "in 3 min 2 s" or "2 days ago".
func ago(t, now time.Time) string {
	d := now.Sub(t)
	if d < 0 {
		return "in " + length(-d)
	}
	return length(d) + " ago"
}

func length(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 2*day:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d < 730*day:
		return fmt.Sprintf("%d days", d/day)
	}
	return fmt.Sprintf("%.1f years", d.Hours()/24/365.25)
}

// seconds formats a remaining time in whole seconds, rounded up: "8 s" or "2 min 3 s".
func seconds(d time.Duration) string {
	d = max(0, d+time.Second-1).Truncate(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return length(d)
}

var units = regexp.MustCompile(`(\d) (ms|s|min|h|UTC)\b`)

// joined keeps numbers and their units, and times and their zone, on one line.
func joined(text string) string { return units.ReplaceAllString(text, "$1\u00a0$2") }

// moment formats a time, without the date if it is on the same day as now.
func moment(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// number formats a rate: with one decimal place if it is small.
func number(f float64) string {
	if f > 0 && f < 10 {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return thousands(int64(f + 0.5))
}

// icon returns the icon of the page as SVG. The shape differs as well as the color.
func icon(l level) string {
	fill, path := "#2456a6", "M16 5v22M6.5 10.5l19 11M25.5 10.5l-19 11" // a snowflake
	switch l {
	case amber:
		fill, path = "#945a00", "M16 6v13M16 23v3"
	case red:
		fill, path = "#b3261e", "M8 8l16 16M24 8l-16 16"
	case gray:
		fill, path = "#5b6470", "M8 16h16"
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="%s"/><path d="%s" stroke="#fff" stroke-width="4" stroke-linecap="round"/></svg>`, fill, path)
}
