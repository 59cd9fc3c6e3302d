package numbers

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/settings"
)

const (
	maxName      = 18
	maxScope     = 36 // a UUID
	calendarYear = "01-01"
	perPeriod    = 10_000_000_000 // a period and a number share an int64
)

// SeriesConfig configures a Series. Zero fields take the default.
type SeriesConfig struct {
	// Namespace names the service that the numbers belong to: 1 to 64 characters of A-Z a-z 0-9
	// . _ - . Services that share numbers use the same Namespace. Required, except in
	// idworker.Config, where the default is its Namespace.
	Namespace string `yaml:"namespace" json:"namespace" env:"NAMESPACE"`
	// Name identifies the series, 1 to 18 characters of A-Z a-z 0-9 _ - . All processes with
	// the same Namespace and Name share its numbers. Required.
	Name string `yaml:"name" json:"name" env:"NAME"`
	// Period is the period after which numbers start over: day, week (ISO 8601, from Monday),
	// month, quarter, year, or none. All processes of a series have the same Period, Zone,
	// YearStarts and Start: another one is refused at its start. To change them, stop all processes
	// and delete the row that the error names. After a change to a longer period, the series issues
	// no numbers until a new period begins. Default: none.
	Period Period `yaml:"period" json:"period" env:"PERIOD"`
	// Zone is the IANA name of the time zone in which periods begin, such as Europe/Berlin. All
	// processes need the same rules for it, from the machine or from time/tzdata, or some have no
	// numbers (ErrClock) while their periods differ. Default: UTC.
	Zone string `yaml:"zone" json:"zone" env:"ZONE"`
	// YearStarts is the first day of the fiscal year, such as 04-01, up to the 28th of a month.
	// Quarters are quarters of the fiscal year. It is an error with the periods none and week.
	// Default: 01-01.
	YearStarts string `yaml:"year_starts" json:"year_starts" env:"YEAR_STARTS"`
	// Format is the format of a printed number. Text in braces is replaced: zeros by the number,
	// padded to that width; 2006, 06, 01 and 02, or several of them, by year, month and day of
	// the first day of the period; Q by the quarter; FY by the year in which the fiscal year
	// ends, such as 26, and FY-1 by the year before; W by the ISO week, and then 2006 by the
	// week's year; scope by the scope. A format must distinguish the periods. Default: {000000},
	// preceded by {20060102}-, {2006}W{W}-, {200601}-, {2006}Q{Q}- or {2006}- for day, week,
	// month, quarter or year. If YearStarts is set, FY{FY} replaces {2006} for quarters and
	// years.
	Format string `yaml:"format" json:"format" env:"FORMAT"`
	// Start is the first number of each period, 1 to Max. Default: 1.
	Start int64 `yaml:"start" json:"start" env:"START"`
	// Max is the greatest number of a period, up to 9999999999. Default: 9999999999.
	Max int64 `yaml:"max" json:"max" env:"MAX"`
	// Gapless takes each number in a transaction of the application: see Series.NextTx.
	Gapless bool `yaml:"gapless" json:"gapless" env:"GAPLESS"`
}

// WithDefaults returns c with its zero fields filled in.
func (c SeriesConfig) WithDefaults() SeriesConfig {
	c.Period = cmp.Or(c.Period, none)
	c.Zone = cmp.Or(c.Zone, "UTC")
	c.YearStarts = cmp.Or(c.YearStarts, calendarYear)
	if c.Format == "" {
		c.Format = periods[c.Period].before + "{000000}"
		if c.YearStarts != calendarYear && (c.Period == Quarter || c.Period == Year) {
			c.Format = strings.Replace(c.Format, "{2006}", "FY{FY}", 1)
		}
	}
	c.Start = cmp.Or(c.Start, 1)
	c.Max = cmp.Or(c.Max, perPeriod-1)
	return c
}

// Validate fills in defaults and returns all faults of c joined into one error, or nil.
func (c SeriesConfig) Validate() error {
	_, err := c.parse()
	return err
}

// A plan is a valid SeriesConfig.
type plan struct {
	cfg    SeriesConfig
	zone   *time.Location
	starts time.Time // the first day of the fiscal year, in any year
	text   format
}

func (c SeriesConfig) parse() (p plan, err error) {
	c = c.WithDefaults()
	p.cfg = c
	list := fault.List{In: "series"}
	settings.Check{List: &list, Name: strings.ToLower}.Namespace(c.Namespace)
	list.Check("name", c.Name, !word(c.Name, maxName) || c.Name == "", "is not 1 to %d characters of A-Z a-z 0-9 _ -", maxName)
	fault.OneOf(&list, "period", c.Period, none, Day, Week, Month, Quarter, Year)
	p.zone, err = time.LoadLocation(c.Zone)
	list.Check("zone", c.Zone, err != nil || slices.Contains([]string{"Local", "localtime", "posixrules"}, c.Zone),
		`is not a time zone that is the same on all machines: give a name such as Europe/Berlin; import _ "time/tzdata" if the machine has no time zones`)
	if p.starts, err = time.Parse("01-02", c.YearStarts); err != nil || p.starts.Day() > 28 {
		list.Check("year_starts", c.YearStarts, true, "is not a month and a day up to the 28th, such as 04-01")
	} else {
		list.Check("year_starts", c.YearStarts, c.YearStarts != calendarYear && (c.Period == none || c.Period == Week), "has no meaning for period %s: leave it out", c.Period)
	}
	list.Check("start", c.Start, c.Start < 1 || c.Start > c.Max, "is not from 1 to max (%d)", c.Max)
	list.Check("max", c.Max, c.Max < 1 || c.Max >= perPeriod, "is not 1 to %d", int64(perPeriod-1))
	if _, known := periods[c.Period]; !known { // reported above
		return p, list.Err()
	}
	p.text, err = p.parseFormat(c.Format)
	list.Check("format", c.Format, err != nil, "%v", err)
	return p, list.Err()
}

// word reports whether s has at most most characters, all of A-Z a-z 0-9 _ -
func word(s string, most int) bool {
	return len(s) <= most && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// ErrScope is returned for a scope with more than 36 characters, or with others than A-Z a-z
// 0-9 _ -
var ErrScope = errors.New("series: the scope is not valid")
