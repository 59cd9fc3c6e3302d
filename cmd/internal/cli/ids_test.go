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

func TestEncode(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "", "encode", "--preset=discord", "--time=2016-04-30T11:18:25.796Z", "--worker=32", "--sequence=7")
	require.Zero(t, code, errs)
	require.Equal(t, "175928847299117063\n", out)
	_, out, _ = call(t, "", "encode", "--preset=discord", "--time=1462015105796", "--worker=32", "--sequence=7", "--base=58")
	require.Equal(t, "QgmVVkniES\n", out)

	code, _, errs = call(t, "", "encode", "--worker=32")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "worker 32 is not 0 to 31")
}

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
		args := []string{"--config=" + file, "--key=" + c.key}
		code, out, errs := call(t, "", append([]string{"decode", c.id}, args...)...)
		require.Zero(t, code, errs)
		require.Contains(t, out, c.want)
		_, out, _ = call(t, "", append([]string{"decode", "--json", c.id}, args...)...)
		var p struct {
			Time                       string
			Worker, Business, Sequence int64
		}
		require.NoError(t, json.Unmarshal([]byte(out), &p))
		_, out, _ = call(t, "", append([]string{"encode", "--time=" + p.Time, fmt.Sprint("--worker=", p.Worker), fmt.Sprint("--business=", p.Business), fmt.Sprint("--sequence=", p.Sequence)}, args...)...)
		require.Equal(t, c.id+"\n", out)
	}
	_, out, _ := call(t, "", "layout", "--config="+file)
	require.Contains(t, out, "epoch=1420070400000 unit=1ms bits=41/10/0/12")
	code, _, errs := call(t, "", "decode", "1", "--config="+file, "--key=bad")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, `config.yaml:5: preset: snowflake: layout preset "uuid" is unknown`)
	_, _, errs = call(t, "", "decode", "1", "--config="+file, "--key=missing")
	require.Contains(t, errs, file+": there is nothing at the key missing")
}

func TestLayoutIsExplained(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "", "layout", "--preset=twitter")
	require.Zero(t, code, errs)
	for _, want := range []string{"epoch=1288834974657 unit=1ms bits=41/10/0/12", "1024, sufficient for 512 replicas", "4096 a tick, 4096000 a second", "no: send ids to JavaScript as strings", "2080-07-10T17:30:30Z"} {
		require.Contains(t, out, want)
	}
	_, out, _ = call(t, "", "layout", "--preset=jssafe")
	require.Regexp(t, `safe for JavaScript +yes`, out)
	_, out, _ = call(t, "", "layout", "--bits=30/5/0/17")
	require.Contains(t, out, "FAULT")
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
