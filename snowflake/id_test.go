package snowflake_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/snowflake"
)

var (
	_ encoding.TextMarshaler   = snowflake.ID(0)
	_ encoding.TextUnmarshaler = (*snowflake.ID)(nil)
	_ json.Marshaler           = snowflake.ID(0)
	_ json.Unmarshaler         = (*snowflake.ID)(nil)
	_ driver.Valuer            = snowflake.ID(0)
	_ sql.Scanner              = (*snowflake.ID)(nil)
)

var bases = []int{10, 36, 58, 62}

func TestIDText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id                          snowflake.ID
		dec, base36, base58, base62 string
	}{
		{0, "0", "0", "1", "0"},
		{9, "9", "9", "A", "9"},
		{57, "57", "1l", "z", "v"},
		{58, "58", "1m", "21", "w"},
		{61, "61", "1p", "24", "z"},
		{62, "62", "1q", "25", "10"},
		{175928847299117063, "175928847299117063", "1c49kkphnxtz", "QgmVVkniES", "Czks0tP37X"},
		{math.MaxInt64, "9223372036854775807", "1y2p0ij32e8e7", "NQm6nKp8qFC", "AzL8n0Y58m7"},
		{math.MinInt64, "-9223372036854775808", "-1y2p0ij32e8e8", "-NQm6nKp8qFD", "-AzL8n0Y58m8"},
	} {
		require.Equal(t, c.dec, c.id.String())
		require.Equal(t, []string{c.base36, c.base58, c.base62}, []string{c.id.Base36(), c.id.Base58(), c.id.Base62()})
		if c.id < 0 {
			continue
		}
		for i, text := range []string{c.id.String(), c.id.Base36(), c.id.Base58(), c.id.Base62()} {
			got, err := snowflake.ParseID(text, bases[i])
			require.NoError(t, err)
			require.Equal(t, c.id, got)
			formatted, err := c.id.Format(bases[i])
			require.NoError(t, err)
			require.Equal(t, text, formatted)
		}
	}
	_, err := snowflake.ID(1).Format(16)
	require.ErrorContains(t, err, "base 16 is unknown: choose 10, 36, 58 or 62")
}

func TestParseIDRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		base int
		want string
	}{
		{"", 10, `parse id "" in base 10: it is empty`},
		{"-1", 10, "an id is not negative"},
		{"+1", 10, `character '+' at 0`},
		{"١", 10, "character 'Ù' at 0"},
		{"007", 10, `leading '0'`},
		{"12", 58, `leading '1'`},
		{"0A", 62, `leading '0'`},
		{"A", 36, `character 'A' at 0`},
		{"0", 58, `character '0' at 0`},
		{"l", 58, `character 'l' at 0`},
		{"9223372036854775808", 10, "above 2^63-1"},
		{"1y2p0ij32e8e8", 36, "above 2^63-1"},
		{"NQm6nKp8qFD", 58, "above 2^63-1"},
		{"AzL8n0Y58m8", 62, "above 2^63-1"},
		{strings.Repeat("9", 100000), 10, "(100000 bytes)"},
		{"1", 0, "base 0 is unknown"},
	} {
		_, err := snowflake.ParseID(c.text, c.base)
		require.ErrorContains(t, err, c.want, "%.40q", c.text)
		require.Less(t, len(err.Error()), 250)
	}
}

func TestIDJSON(t *testing.T) {
	t.Parallel()
	type row struct {
		ID     snowflake.ID            `json:"id"`
		Quoted snowflake.ID            `json:"quoted,string"`
		Ptr    *snowflake.ID           `json:"ptr"`
		Map    map[snowflake.ID]string `json:"map"`
	}
	in := row{ID: 175928847299117063, Quoted: 7, Map: map[snowflake.ID]string{9: "nine"}}
	b, err := json.Marshal(in)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"175928847299117063","quoted":"7","ptr":null,"map":{"9":"nine"}}`, string(b))
	var out row
	require.NoError(t, json.Unmarshal(b, &out))
	require.Equal(t, in, out)

	for text, want := range map[string]snowflake.ID{
		`"12"`: 12, `12`: 12, `0`: 0, `"0"`: 0, `9223372036854775807`: math.MaxInt64, `"\u0031"`: 1,
		` null `: 5, // stays as it was
	} {
		id := snowflake.ID(5)
		require.NoError(t, json.Unmarshal([]byte(text), &id), text)
		require.Equal(t, want, id, text)
	}
	for text, want := range map[string]string{
		`1.5`:                   "1.5 is not written as an integer: write ids as strings",
		`1e3`:                   "not written as an integer",
		`1.8446744073709552e19`: "not written as an integer",
		`-1`:                    "not negative",
		`9223372036854775808`:   "above 2^63-1",
		`""`:                    "it is empty",
		`"abc"`:                 "character 'a'",
		`true`:                  "character 't'",
		`[1]`:                   "character '['",
	} {
		id := snowflake.ID(5)
		require.ErrorContains(t, json.Unmarshal([]byte(text), &id), want, text)
		require.Equal(t, snowflake.ID(5), id, "a failed read changes nothing")
	}
	require.Error(t, new(snowflake.ID).UnmarshalJSON(nil))
	require.Error(t, new(snowflake.ID).UnmarshalJSON([]byte(`"`)))
	require.Less(t, len(new(snowflake.ID).UnmarshalJSON([]byte("1."+strings.Repeat("7", 1<<20))).Error()), 200)
}

func TestIDScanAndValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src  any
		want snowflake.ID
		err  string
	}{
		{src: int64(7), want: 7},
		{src: int64(0), want: 0},
		{src: uint64(math.MaxInt64), want: math.MaxInt64},
		{src: []byte("12"), want: 12},
		{src: "12", want: 12},
		{src: snowflake.ID(8), want: 8},
		{src: func() *snowflake.ID { id := snowflake.ID(9); return &id }(), want: 9},
		{src: (*snowflake.ID)(nil), err: "scan into *ID or sql.Null[ID]"},
		{src: snowflake.ID(-2), err: "-2 is negative"},
		{src: int64(-1), err: "-1 is negative"},
		{src: uint64(math.MaxInt64 + 1), err: "9223372036854775808 is above 2^63-1"},
		{src: []byte("-1"), err: "not negative"},
		{src: "x", err: "character 'x'"},
		{src: nil, err: "scan into *ID or sql.Null[ID]"},
		{src: 1.5, err: "cannot read an id from a column of float64: use BIGINT"},
	} {
		id := snowflake.ID(5)
		err := id.Scan(c.src)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			require.Equal(t, snowflake.ID(5), id)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, id)
	}
	v, err := snowflake.ID(7).Value()
	require.NoError(t, err)
	require.Equal(t, int64(7), v)
}

func FuzzIDText(f *testing.F) {
	for _, id := range []int64{0, 1, 57, 58, 61, 62, 175928847299117063, math.MaxInt64} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		id := snowflake.ID(n & math.MaxInt64)
		for _, base := range bases {
			text, err := id.Format(base)
			require.NoError(t, err)
			back, err := snowflake.ParseID(text, base)
			require.NoError(t, err)
			require.Equal(t, id, back)
		}
		require.Equal(t, strconv.FormatInt(int64(id), 36), id.Base36())
	})
}

// Any text that parses is exactly the text that Format writes.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"", "0", "1", "-1", "007", "21", "AzL8n0Y58m7", "9223372036854775808", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, base := range bases {
			id, err := snowflake.ParseID(s, base)
			if err != nil {
				require.Zero(t, id)
				continue
			}
			require.GreaterOrEqual(t, id, snowflake.ID(0))
			text, err := id.Format(base)
			require.NoError(t, err)
			require.Equal(t, s, text)
		}
	})
}
