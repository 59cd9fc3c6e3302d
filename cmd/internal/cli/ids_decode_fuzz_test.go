package cli

import (
	"encoding/json"
	"fmt"
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
		preset := "default"
		if discord {
			preset = "discord"
		}
		l, err := snowflake.Preset(preset)
		require.NoError(t, err)
		code, out, faults := call(t, input, "decode", "--json", "--preset="+preset, "-")
		require.Equal(t, code != 0, strings.Contains(faults, "snowlease: "), faults)
		if bad := strings.Count(faults, "snowlease: line "); bad > 0 && !strings.Contains(faults, "read line") {
			require.Contains(t, faults, fmt.Sprintf("%d of %d could not be translated", bad, bad+strings.Count(out, "\n")))
		}
		for line := range strings.Lines(out) {
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
