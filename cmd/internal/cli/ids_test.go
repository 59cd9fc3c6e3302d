package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	for _, epoch := range []string{"0", "1970-01-01T00:00:00Z"} { // and a date before 2000
		s.ok("decode --bits=41/10/0/12 6617927202103128071 --epoch="+epoch, "2020-01-01T00:00:00.123Z        7         0           7")
	}
	s.ok("decode --bits=41/10/0/12 1 --epoch=1999-01-01T00:00:00Z", "1999-01-01T00:00:00.000Z")
	s.exits(exitUsage, "decode 1 --epoch=1577808000", "--epoch 1577808000 is 1970-01-19T06:16:48Z, before 2000: give Unix milliseconds, as 1577808000000 for")
	s.exits(exitUsage, "decode 1 --epoch=-1", `--epoch "-1" is before 1970`)
	s.exits(exitUsage, "decode --source=uuid 1", "the source is unknown: choose baidu, ")
	s.exits(exitUsage, "decode --source=twitter --preset=wide 1", "--namespace or --source sets the layout: leave out the other layout flags")
}

// An id that the default layout puts far from today is of another. The store knows which.
func TestDecodeAsksForTheLayout(t *testing.T) {
	t.Parallel()
	for id, date := range map[string]string{"1764512345678901234": "2033-", "1": "2019-12-31", "875618295808069": "2020-01-03"} {
		printed := in(t).exits(exitFailed, "decode "+id, "snowlease: argument 1: id "+id+" would be of "+date, "in the default layout: which layout made it? Give --namespace, --config, --preset, --source, or --epoch and --bits")
		require.NotContains(t, printed, "TIME")
	}
	s := in(t, "--store=sqlite:"+filepath.Join(t.TempDir(), "app.db"))
	s.ok("init --yes --namespace=shop --preset=twitter")
	s.ok("decode --namespace=shop 1764512345678901234", "2024-03-04T04:45:00.920Z      950")
	s.exits(exitFailed, "decode --namespace=shops 1", "nothing is on record")
	s.exits(exitUsage, "decode --namespace=shop --preset=wide 1", "--namespace or --source sets the layout: leave out the other layout flags")
	in(t).exits(exitUsage, "decode --namespace=shop 1", "--store is empty")
	in(t).ok("decode --epoch=12888349746579 --bits=41/5/5/12 8814953073928568832", "Warning: the epoch 2378-06-01T17:09:06Z is in the future.", "2445-01-05")
}

func TestLayoutIsExplained(t *testing.T) {
	t.Parallel()
	in(t).ok("layout --preset=twitter", "epoch=1288834974657 unit=1ms bits=41/10/0/12", "1024, sufficient for 512 replicas",
		"4096 a tick, 4096000 a second", "no: send ids to JavaScript as strings", "2080-07-10T17:30:30Z")
	require.Regexp(t, `safe for JavaScript +yes`, in(t).ok("layout --preset=jssafe"))
	in(t).ok("layout --bits=30/5/0/17", "FAULT")
	for bits, note := range map[string]string{
		"41/20/0/2":             "only 4 ids in 1ms for each worker id: set worker bits to 17 and sequence bits to 5",
		"41/5/12/4":             "only 16 ids in 1ms for each worker id: set business bits to 11 and sequence bits to 5",
		"41/2/1/2":              "only 4 ids in 1ms for each worker id: use shorter ticks, or give bits of the time to the sequence",
		"41/10/0/12 --unit=1s":  "only 4096 ids in 1s for each worker id: set worker bits to 8 and sequence bits to 14",
		"39/16/0/8 --unit=10ms": "",
		"41/5/0/5":              "",
	} {
		out := in(t).ok("layout --bits="+bits, note)
		require.Equal(t, note != "", strings.Contains(out, "NOTE"), out)
	}
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
	got, err := parseLayout("epoch=0 unit=1ms bits=41/5/0/17")
	require.NoError(t, err)
	require.EqualValues(t, snowflake.UnixEpoch, got.Epoch)
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
