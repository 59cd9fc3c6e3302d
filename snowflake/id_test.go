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

func TestParseIDRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          `parse id "": it is empty`,
		"-1":                        "an id is not negative",
		"+1":                        "character '+' at 0 is no digit",
		"1_000":                     "character '_' at 1",
		" 7":                        "character ' ' at 0",
		"١":                         "character '١' at 0",
		"007":                       "it has leading zeros; remove them",
		"9223372036854775808":       "it is above 2^63-1",
		"99999999999999999999":      "it is above 2^63-1",
		strings.Repeat("9", 100000): "(100000 bytes)",
	} {
		_, err := snowflake.ParseID(text)
		id := snowflake.ID(5)
		for _, err := range []error{err, id.UnmarshalText([]byte(text)), id.UnmarshalBinary([]byte(text)), id.UnmarshalParam(text), id.UnmarshalGQL(text)} {
			require.ErrorContains(t, err, want, "%.40q", text)
			require.Less(t, len(err.Error()), 250)
		}
		require.EqualValues(t, 5, id, "a failed read changes nothing")
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
		{src: func() *snowflake.ID { id := snowflake.ID(9); return &id }(), want: 9},
		{src: int64(-1), err: "-1 is negative"},
		{src: uint64(math.MaxInt64 + 1), err: "9223372036854775808 is above 2^63-1"},
		{src: []byte("-1"), err: "not negative"},
		{src: "x", err: "character 'x'"},
		{src: nil, err: "scan into *ID or sql.Null[ID]"},
		{src: 1.5, err: "cannot read an id from a float64: use a BIGINT or a string"},
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
	require.Equal(t, "bigint", snowflake.ID(7).GormDataType())
	v, err := snowflake.ID(7).Value()
	require.NoError(t, err)
	require.Equal(t, int64(7), v)
}

// Any text that parses is exactly the text that String writes.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"", "0", "1", "-1", "007", "21", "912338055136935936", "9223372036854775807", "9223372036854775808", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := snowflake.ParseID(s)
		n, inGo := strconv.ParseUint(s, 10, 63)
		if err != nil {
			require.False(t, inGo == nil && strconv.FormatUint(n, 10) == s)
			require.Zero(t, id)
			return
		}
		require.EqualValues(t, n, id)
		require.Equal(t, s, id.String())
	})
}
