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
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, input string, discord bool) {
		l := snowflake.Layout{}.WithDefaults()
		if discord {
			l = snowflake.Discord()
		}
		var out, faults bytes.Buffer
		d := decoder{name: "snowlease", decode: l.Decode, json: true, out: &out, faults: &faults}
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
