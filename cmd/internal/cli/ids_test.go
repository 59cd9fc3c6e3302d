package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/snowflake"
)

// decode, encode and layout take the layout of the application's configuration.
func TestLayoutOfTheConfiguration(t *testing.T) {
	t.Parallel()
	file := writeFile(t, `
idworker: {namespace: orders, preset: discord}
own: {ids: {namespace: bills, layout: {epoch: 1556985600000, worker_bits: 5, business_bits: 5, sequence_bits: 12}}}
none: {namespace: notes}
bad: {namespace: notes, preset: uuid}
`)
	for _, c := range []struct{ key, id, want string }{
		{"idworker", "175928847299117063", "2016-04-30T11:18:25.796Z       32         0           7"},
		{"own.ids", "1369734562062337", "2019-05-08T10:42:50.168Z        1         2           1"},
		{"none", "912050440815641783", "2026-11-21T10:42:50.168Z        7         0        1207"},
	} {
		s := in(t, "--config="+file, "--key="+c.key)
		s.ok("decode "+c.id, c.want)
		var p struct {
			Time                       string
			Worker, Business, Sequence int64
		}
		require.NoError(t, json.Unmarshal([]byte(s.ok("decode --json "+c.id)), &p))
		require.Equal(t, c.id+"\n", s.ok(fmt.Sprintf("encode --time=%s --worker=%d --business=%d --sequence=%d", p.Time, p.Worker, p.Business, p.Sequence)))
	}
	s := in(t, "--config="+file)
	s.ok("layout", "epoch=1420070400000 unit=1ms bits=41/10/0/12")
	s.exits(exitUsage, "decode 1 --key=bad", `config.yaml:5: preset: snowflake: layout preset "uuid" is unknown`)
	s.exits(exitUsage, "decode 1 --key=missing", file+": there is nothing at the key missing")
	in(t).exits(exitFailed, "encode --worker=32", "worker 32 is not 0 to 31")
}

// Two generators whose ids the layouts of presets would misread.
func TestDecodeOfASource(t *testing.T) {
	t.Parallel()
	s := in(t)
	s.ok("decode --source=pgedge 517142922617954309", "517142922617954309   2026-11-28T01:01:20.803Z        5         0           8")
	s.ok("decode --source=yitter-dotnet 875618295808069", "875618295808069      2026-11-29T08:00:00.020Z        1         0           5\n")
	s.exits(exitUsage, "decode --source=uuid 1", "--source is unknown: choose baidu, ")
	s.exits(exitUsage, "decode --source=twitter --preset=wide 1", "--source names the layout: give no other flag for it")
}

func TestLayoutIsExplained(t *testing.T) {
	t.Parallel()
	in(t).ok("layout --preset=twitter", "epoch=1288834974657 unit=1ms bits=41/10/0/12", "1024, sufficient for 512 replicas",
		"4096 a tick, 4096000 a second", "no: send ids to JavaScript as strings", "2080-07-10T17:30:30Z")
	require.Regexp(t, `safe for JavaScript +yes`, in(t).ok("layout --preset=jssafe"))
	in(t).ok("layout --bits=30/5/0/17", "FAULT")
}

func TestParseLayout(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"default", "twitter", "discord", "wide", "yitter", "jssafe"} {
		l, err := snowflake.Preset(name)
		require.NoError(t, err)
		got, err := parseLayout(l.String())
		require.NoError(t, err)
		require.Equal(t, l.WithDefaults(), got)
	}
	for _, s := range []string{"", "41/5/0/17", "epoch=1 unit=1ms bits=41/5/0/17x", "epoch=x unit=1ms bits=41/5/0/17", "epoch=1 unit=s bits=41/5/0/17"} {
		_, err := parseLayout(s)
		require.Error(t, err, s)
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}
