package numbers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/numbers"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []numbers.SeriesConfig{
		{Name: "a"},
		{Name: "Aa0_-23456789abcdef"[:18], Period: numbers.Week, Zone: "Asia/Kolkata", Max: 9_999_999_999, Start: 9_999_999_999},
		{Name: "a", Format: "{0}"},
		{Name: "a", Period: numbers.Day, Format: "{02}.{01}.{06}/{scope}/{0000}"},
		{Name: "a", Period: numbers.Month, Format: "{scope}-{0601}{0}!"},
		{Name: "a", Period: numbers.Year, Format: "R{2006}{00}"},
		{Name: "a", Period: numbers.Quarter, YearStarts: "04-06", Format: "{FY-1}-{FY}/{01}-{0}"},
		{Name: "a", Gapless: true},
	} {
		c.Namespace = "shop"
		require.NoError(t, c.Validate(), c)
	}
	for says, c := range map[string]numbers.SeriesConfig{
		`name "" is not 1 to 18`:              {},
		`name "a.b" is not`:                   {Name: "a.b"},
		"is not 1 to 18 characters":           {Name: "nineteen-characters"},
		`period "hour" is unknown`:            {Name: "a", Period: "hour"},
		`zone "Mars" is not a time zone`:      {Name: "a", Zone: "Mars"},
		`zone "Local" is not a time zone`:     {Name: "a", Zone: "Local"},
		`zone "localtime" is not a time zone`: {Name: "a", Zone: "localtime"},
		"start -1 is not from 1 to max":       {Name: "a", Start: -1},
		"start 8 is not from 1 to max (7)":    {Name: "a", Start: 8, Max: 7},
		"max 10000000000 is not":              {Name: "a", Max: 10_000_000_000},
		"prints two scopes alike":             {Name: "a", Format: "{scope}{0}"},
		"prints two scopes alike: put":        {Name: "a", Format: "{scope}1{0}"},
		"scopes alike: put":                   {Name: "a", Format: "{0}0{scope}"},
		"has control characters":              {Name: "a", Format: "{0}\n"},
		"has no number":                       {Name: "a", Format: "INV"},
		"has {0} twice":                       {Name: "a", Format: "{0}{00}"},
		"has a { without its }":               {Name: "a", Format: "{0"},
		"has a } without its {":               {Name: "a", Format: "0}{0}"},
		"has {} without a name":               {Name: "a", Format: "{}{0}", Period: numbers.Day},
		"has {2006}, which is unknown":        {Name: "a", Format: "{2006}{0}"},
		"has {tenant}, which is unknown":      {Name: "a", Format: "{tenant}{0}"},
		"has {01}, which is unknown":          {Name: "a", Format: "{2006}{01}{W}{0}", Period: numbers.Week},
		"numbers of each day alike: add {01}": {Name: "a", Format: "{2006}{02}{0}", Period: numbers.Day},
		"each month alike: add {01}":          {Name: "a", Format: "{2006}{0}", Period: numbers.Month},
		"each month alike: add {2006}":        {Name: "a", Format: "{01}{0}", Period: numbers.Month},
		"each week alike: add {W}":            {Name: "a", Format: "{2006}{0}", Period: numbers.Week},
		"each year alike: add {2006}":         {Name: "a", Format: "{0}", Period: numbers.Year},
		"each quarter alike: add {Q}":         {Name: "a", Format: "{FY}{0}", Period: numbers.Quarter},
		"has {FY}, which is unknown":          {Name: "a", Format: "{FY}{0}"},
		`year_starts "13-01" is not a month`:  {Name: "a", Period: numbers.Year, YearStarts: "13-01"},
		`year_starts "02-29" is not a month`:  {Name: "a", Period: numbers.Year, YearStarts: "02-29"},
		"no meaning for period week":          {Name: "a", Period: numbers.Week, YearStarts: "04-01"},
	} {
		c.Namespace = "shop"
		err := c.Validate()
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "\n", "one fault, one error")
	}
}

// FuzzFormat: a format that is accepted tells the numbers of two periods apart.
func FuzzFormat(f *testing.F) {
	for _, text := range []string{"INV-{2006}-{01}-{000000}", "{0601}{0}", "{2006}W{W}{0}", "{scope}{20060102}{00}", "{FY-1}-{FY}-{Q}{0}", "{", "}{0}"} {
		f.Add(text, uint8(0))
	}
	periods := []numbers.Period{numbers.Day, numbers.Week, numbers.Month, numbers.Quarter, numbers.Year}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		cfg := numbers.SeriesConfig{Namespace: "shop", Name: "a", Format: text, Period: periods[int(kind)%len(periods)]}
		if cfg.Validate() != nil {
			return
		}
		clock := at("2026-11-24T00:00:00Z")
		s := openSeries(t, new(seriesStore), clock, cfg)
		first := texts(t, s, "a", 1)[0]
		clock.set("2028-01-08T00:00:00Z")
		if second := texts(t, s, "a", 1)[0]; second == first {
			t.Errorf("%q prints %q twice", text, first)
		}
	})
}
