package numbers

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A format is the parsed SeriesConfig.Format.
type format []printer

// A printer appends one part of a format.
type printer func(to []byte, n Number) []byte

// alike matches a format in which the digits of a number or a date may be mistaken for the end or
// the beginning of a scope.
var alike = regexp.MustCompile(`\{scope\}[0-9]*\{|\}[0-9]*\{scope\}`)

// partOrText matches a part in braces, the text before the next one, or a brace alone.
var partOrText = regexp.MustCompile(`\{([^{}]*)\}|[^{}]+|[{}]`)

func (p plan) parseFormat(text string) (f format, err error) {
	seen := map[string]bool{}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return nil, errors.New("has control characters")
	}
	if alike.MatchString(text) {
		return nil, errors.New("prints two scopes alike: put a character such as - next to {scope}")
	}
	for _, m := range partOrText.FindAllStringSubmatch(text, -1) {
		switch m[0] {
		case "{":
			return nil, errors.New("has a { without its }")
		case "}":
			return nil, errors.New("has a } without its {")
		}
		if m[0][0] != '{' {
			f = append(f, func(to []byte, _ Number) []byte { return append(to, m[0]...) })
			continue
		}
		one, names, err := p.parsePart(m[1])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if seen[name] {
				return nil, fmt.Errorf("has {%s} twice", name)
			}
			seen[name] = true
		}
		f = append(f, one)
	}
	if !seen["0"] {
		return nil, errors.New("has no number: write zeros in braces, such as {000000}")
	}
	for _, names := range periods[p.cfg.Period].tells {
		if !slices.ContainsFunc(names, func(name string) bool { return seen[name] }) {
			return nil, fmt.Errorf("prints the numbers of each %s alike: add {%s}", p.cfg.Period, names[0])
		}
	}
	return f, nil
}

// parsePart returns the printer of a part, and the names of the parts of time that it prints.
func (p plan) parsePart(part string) (one printer, names []string, err error) {
	if part != "" && strings.Trim(part, "0") == "" && len(part) <= 18 {
		return func(to []byte, n Number) []byte { return fmt.Appendf(to, "%0*d", len(part), n.Value) }, []string{"0"}, nil
	}
	week := p.cfg.Period == Week
	dated := !week && p.cfg.Period != none
	switch {
	case part == "scope":
		one = func(to []byte, n Number) []byte { return append(to, n.Scope...) }
	case part == "Q" && dated:
		one = func(to []byte, n Number) []byte {
			quarter, _ := p.quarter(n.Period)
			return strconv.AppendInt(to, int64(quarter), 10)
		}
	case part == "FY" && dated:
		one = p.fiscal(0)
	case part == "FY-1" && dated:
		one = p.fiscal(-1)
	case part == "W" && week:
		one = func(to []byte, n Number) []byte {
			_, number := n.Period.ISOWeek()
			return fmt.Appendf(to, "%02d", number)
		}
	default:
		return p.parseDate(part)
	}
	return one, []string{part}, nil
}

// fiscal prints the calendar year in which the fiscal year ends, plus more.
func (p plan) fiscal(more int) printer {
	return func(to []byte, n Number) []byte {
		return fmt.Appendf(to, "%02d", (p.year(n.Period).AddDate(1, 0, -1).Year()+more)%100)
	}
}

// parseDate parses a part that consists of layout names of time.Format.
func (p plan) parseDate(part string) (one printer, names []string, err error) {
	by := p.cfg.Period
	for rest := part; rest != ""; {
		name := ""
		for _, known := range []string{"2006", "06", "01", "02"} {
			if strings.HasPrefix(rest, known) && name == "" {
				name = known
			}
		}
		if name == "" || by == none || by == Week && name[0] == '0' && name != "06" {
			return nil, nil, fmt.Errorf("has {%s}, which is unknown to a series by %s", part, by)
		}
		names, rest = append(names, name), rest[len(name):]
	}
	if len(names) == 0 {
		return nil, nil, errors.New("has {} without a name")
	}
	return func(to []byte, n Number) []byte {
		day := n.Period
		if by == Week { // the ISO year is the year of the week's Thursday
			day = day.AddDate(0, 0, 3)
		}
		return day.AppendFormat(to, part)
	}, names, nil
}

// A Number is a number of a Series.
type Number struct {
	// Period is the first day of the period, at midnight UTC. It is zero if the series has no
	// periods. Record the row under this period, even if the caller's clock has reached the next
	// one.
	Period time.Time
	// Scope is the scope that was passed to Next, NextTx or Fill.
	Scope string
	// Value counts from SeriesConfig.Start in each period.
	Value int64

	text string
}

// String returns the number in the format of its series.
func (n Number) String() string { return n.text }

func (f format) print(n Number) Number {
	var text []byte
	for _, one := range f {
		text = one(text, n)
	}
	n.text = string(text)
	return n
}
