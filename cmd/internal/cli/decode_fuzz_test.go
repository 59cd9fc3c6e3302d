package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/snowflake"
)

// FuzzDecode checks that each line either decodes to parts that encode to the same id, or is
// reported.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"175928847299117063", "0\n1\n\n 2 \r\n", "-1", "9223372036854775807\n9223372036854775808", "QgmVVkniES", "x\x00", "1e3", strings.Repeat("9", 70_000)} {
		f.Add(s, uint8(0), false)
		f.Add(s, uint8(2), true)
	}
	f.Fuzz(func(t *testing.T, input string, base uint8, discord bool) {
		l := snowflake.Layout{}.WithDefaults()
		if discord {
			l = snowflake.Discord()
		}
		var out, faults bytes.Buffer
		d := decoder{name: "snowlease", layout: l, base: []int{10, 36, 58, 62}[base%4], json: true, out: &out, faults: &faults}
		err := d.all([]string{"-"}, strings.NewReader(input))
		require.Equal(t, d.bad, strings.Count(faults.String(), "snowlease: line "))
		require.Equal(t, d.good, strings.Count(out.String(), "\n"))
		if d.bad > 0 {
			require.Error(t, err)
		}
		for line := range strings.Lines(out.String()) {
			var got struct {
				ID                         snowflake.ID
				Time                       time.Time
				Worker, Business, Sequence int64
			}
			require.NoError(t, json.Unmarshal([]byte(line), &got))
			id, err := l.Encode(snowflake.Parts{Time: got.Time, Worker: got.Worker, Business: got.Business, Sequence: got.Sequence})
			require.NoError(t, err)
			require.EqualValues(t, got.ID, id)
		}
	})
}

// FuzzLayoutFlags checks that accepted flags give a valid layout that its fingerprint restores.
func FuzzLayoutFlags(f *testing.F) {
	f.Add("default", "", "", int64(0))
	f.Add("twitter", "2020-01-01T00:00:00+08:00", "41/5/0/17", int64(time.Millisecond))
	f.Add("JSSafe", "1577808000000", "39/8/4/12", int64(10*time.Millisecond))
	f.Add("none", "0", "0/5/0/17", int64(-1))
	f.Add("wide", "9223372036854775807", "255/255/255/255", int64(time.Hour))
	f.Add("", "9999-12-31T23:59:59Z", "1/2/3", int64(1))
	f.Add("", "x", "+1/1/0/1", int64(1))
	f.Fuzz(func(t *testing.T, preset, epoch, bits string, unit int64) {
		flags := layoutFlags{preset: preset, epoch: epoch, bits: bits, unit: time.Duration(unit)}
		l, err := flags.layout()
		if err != nil {
			return
		}
		require.NoError(t, l.Validate())
		parts := strings.FieldsFunc(l.String(), func(r rune) bool { return r == ' ' || r == '=' })
		require.Len(t, parts, 6)
		d, err := time.ParseDuration(parts[3])
		require.NoError(t, err)
		again, err := (&layoutFlags{epoch: parts[1], unit: d, bits: parts[5]}).layout()
		require.NoError(t, err)
		require.Equal(t, l.WithDefaults(), again)
	})
}
