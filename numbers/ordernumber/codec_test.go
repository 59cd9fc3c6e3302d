package ordernumber_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/numbers/ordernumber"
)

func codec(t testing.TB, cfg ordernumber.Config) *ordernumber.Codec {
	t.Helper()
	c, err := ordernumber.New(cfg)
	require.NoError(t, err)
	return c
}

func noon(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		cfg          ordernumber.Config
		at           time.Time
		number, user int64
		want         string
		capacity     int64
		gene         int64
	}{
		{"as it comes", ordernumber.Config{}, noon(2026, 11, 21), 1234, 987657, "202611210000123457", 99_999_999, 57},
		{"zero", ordernumber.Config{}, noon(2026, 1, 2), 0, 0, "202601020000000000", 99_999_999, 0},
		{"full", ordernumber.Config{}, noon(9999, 12, 31), 99_999_999, 99, "999912319999999999", 99_999_999, 99},
		{"a day later in the east", ordernumber.Config{Zone: "Asia/Shanghai"}, time.Date(2026, 2, 28, 16, 0, 0, 0, time.UTC), 1, 1, "202603010000000101", 99_999_999, 1},
		{"64 shards", ordernumber.Config{Digits: 4, Shards: 64}, noon(2026, 11, 21), 7, 1000, "20261121000740", 9999, 40},
		{"no gene", ordernumber.Config{Digits: 4, Gene: -1}, noon(2026, 11, 21), 7, -5, "202611210007", 9999, 0},
		{"wide gene", ordernumber.Config{Digits: 1, Gene: 9}, noon(2026, 11, 21), 7, 1_234_567_890_123, "202611217567890123", 9, 567_890_123},
		{"a snowflake id", ordernumber.Config{Digits: 19}, noon(2026, 11, 21), math.MaxInt64, 5, "20261121922337203685477580705", math.MaxInt64, 5},
		{"checked", ordernumber.Config{Digits: 4, Gene: -1, Check: true}, noon(2026, 11, 21), 7, 0, "2026112100073", 9999, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			codec := codec(t, c.cfg)
			got, err := codec.Format(c.at, c.number, c.user)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Len(t, got, codec.Len())
			require.Equal(t, c.capacity, codec.Capacity())
			parts, err := codec.Parse(got)
			require.NoError(t, err)
			require.Equal(t, c.number, parts.Number)
			require.Equal(t, c.gene, parts.Gene)
			require.Equal(t, c.gene, codec.Gene(max(0, c.user)))
			require.Equal(t, got[:8], noon(parts.Year, parts.Month, parts.Day).Format("20060102"))
		})
	}
}

func TestFormatRefuses(t *testing.T) {
	t.Parallel()
	c := codec(t, ordernumber.Config{Digits: 4})
	day := noon(2026, 11, 21)
	for _, f := range []struct {
		at           time.Time
		number, user int64
		want         error
		text         string
	}{
		{day, 10_000, 1, ordernumber.ErrCapacity, "10000 is above 9999, the greatest number of 4 digits"},
		{day, math.MaxInt64, 1, ordernumber.ErrCapacity, "Config.Digits"},
		{day, -1, 1, ordernumber.ErrArgument, "number -1"},
		{day, 1, -1, ordernumber.ErrArgument, "user -1"},
		{noon(10_000, 1, 1), 1, 1, ordernumber.ErrArgument, "the year 10000"},
		{noon(0, 1, 1), 1, 1, ordernumber.ErrArgument, "the year 0"},
	} {
		s, err := c.Format(f.at, f.number, f.user)
		require.ErrorIs(t, err, f.want)
		require.ErrorContains(t, err, f.text)
		require.Empty(t, s)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  ordernumber.Config
		s    string
		want string
	}{
		{ordernumber.Config{Digits: 4}, "", "0 characters, not 14"},
		{ordernumber.Config{Digits: 4}, "2026112100074", "13 characters, not 14"},
		{ordernumber.Config{Digits: 4}, "202611210007400", "15 characters"},
		{ordernumber.Config{Digits: 4}, "20261121a00740", "characters other than digits"},
		{ordernumber.Config{Digits: 4}, "-0261121000740", "characters other than digits"},
		{ordernumber.Config{Digits: 4}, "2026112１0007", "characters other than digits"},
		{ordernumber.Config{Digits: 4}, "20260230000740", "20260230 is not a date"},
		{ordernumber.Config{Digits: 4}, "20261321000740", "not a date"},
		{ordernumber.Config{Digits: 4}, "00001121000740", "not a date"},
		{ordernumber.Config{Digits: 4, Shards: 64}, "20261121000764", "gene 64 is not below 64"},
		{ordernumber.Config{Digits: 19}, "20261121922337203685477580805", "above 9223372036854775807"},
		{ordernumber.Config{Digits: 19}, "20261121999999999999999999905", "above 9223372036854775807"},
		{ordernumber.Config{Digits: 4, Gene: -1, Check: true}, "2026112100072", "check digit"},
	} {
		p, err := codec(t, c.cfg).Parse(c.s)
		require.ErrorIs(t, err, ordernumber.ErrSyntax, c.s)
		require.ErrorContains(t, err, c.want)
		require.Zero(t, p)
	}
}

// A day may begin at 01:00 where clocks change.
func TestMidnightThatIsNot(t *testing.T) {
	t.Parallel()
	c := codec(t, ordernumber.Config{Zone: "America/Sao_Paulo"})
	at := time.Date(2018, 11, 4, 3, 30, 0, 0, time.UTC) // the first hour of that day there
	s, err := c.Format(at, 1, 1)
	require.NoError(t, err)
	p, err := c.Parse(s)
	require.NoError(t, err)
	require.Equal(t, 4, p.Day)
}

// The check digit detects every wrong digit and every swap of two neighbors.
func TestCheckDigit(t *testing.T) {
	t.Parallel()
	c := codec(t, ordernumber.Config{Check: true})
	for number := range int64(200) {
		s, err := c.Format(noon(2026, 11, 21), number*7919%c.Capacity(), number)
		require.NoError(t, err)
		for i := range s {
			for d := byte('0'); d <= '9'; d++ {
				if d != s[i] {
					requireCheck(t, c, s[:i]+string(d)+s[i+1:])
				}
			}
			if i > 0 && s[i-1] != s[i] {
				requireCheck(t, c, s[:i-1]+string(s[i])+string(s[i-1])+s[i+1:])
			}
		}
	}
}

func requireCheck(t *testing.T, c *ordernumber.Codec, s string) {
	t.Helper()
	_, err := c.Parse(s)
	require.ErrorContains(t, err, "check digit", s)
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  ordernumber.Config
		want []string
	}{
		{ordernumber.Config{Zone: "Mars/Olympus"}, []string{`zone "Mars/Olympus"`, "Asia/Shanghai"}},
		{ordernumber.Config{Zone: "Local"}, []string{`zone "Local"`, "host to host"}},
		{ordernumber.Config{Zone: "localtime"}, []string{`zone "localtime"`, "host to host"}},
		{ordernumber.Config{Digits: -1}, []string{"digits -1", "1 to 19"}},
		{ordernumber.Config{Digits: 20}, []string{"digits 20"}},
		{ordernumber.Config{Gene: 10}, []string{"gene 10", "1 to 9"}},
		{ordernumber.Config{Gene: -2}, []string{"gene -2"}},
		{ordernumber.Config{Shards: 101}, []string{"shards 101", "1 to 100"}},
		{ordernumber.Config{Shards: -1}, []string{"shards -1"}},
		{ordernumber.Config{Gene: -1, Shards: 2}, []string{"shards 2", "1 to 1"}},
		{ordernumber.Config{Zone: "x", Digits: 50, Gene: 50}, []string{"zone", "digits", "gene"}},
	} {
		_, err := ordernumber.New(c.cfg)
		require.Error(t, err)
		for _, want := range c.want {
			require.ErrorContains(t, err, want)
		}
	}
	_, err := ordernumber.New(ordernumber.Config{})
	require.NoError(t, err)
}

// Parse accepts only what Format produces.
func FuzzParse(f *testing.F) {
	codecs := []*ordernumber.Codec{
		codec(f, ordernumber.Config{}), codec(f, ordernumber.Config{Digits: 19, Gene: 9, Check: true}),
		codec(f, ordernumber.Config{Digits: 1, Gene: -1}), codec(f, ordernumber.Config{Shards: 3, Check: true}),
	}
	for _, s := range []string{"202611210000123457", "20261121922337203685477580705", "202611217", "20240229000000010", "", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range codecs {
			p, err := c.Parse(s)
			if err != nil {
				require.ErrorIs(t, err, ordernumber.ErrSyntax)
				continue
			}
			again, err := c.Format(noon(p.Year, p.Month, p.Day), p.Number, p.Gene)
			require.NoError(t, err)
			require.Equal(t, s, again)
		}
	})
}
