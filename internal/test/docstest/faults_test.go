//go:build prove

package docstest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoFindsFaults(t *testing.T) {
	t.Parallel()
	u := own(t)
	for _, text := range []string{
		`idworker.Nope()`, `cfg.Nope = 1`, `func (h Handler) Do() { h.nope() }`, "x := ", `package p; import "fmt"; var _ = fmt.Nope`,
	} {
		file, err := complete(text)
		if err == nil {
			err = u.check(file)
		}
		require.Error(t, err, "%s", text)
	}
	for _, text := range []string{
		"id, err := w.NextID()\nparts, err := w.Decode(id)", "type Order struct{ ID snowflake.ID }", `package p; import "fmt"; var _ = fmt.Sprint`,
	} {
		file, err := complete(text)
		require.NoError(t, err)
		require.NoError(t, u.check(file))
	}
}

func TestShellFindsFaults(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, c := range []command{
		{line: "nope"},
		{line: "make nope"},
		{line: "make soak NOPE=1"},
		{line: "go run ./nope"},
		{line: "go nope"},
		{line: "cd nope && make test"},
		{line: "go test -run TestNope ./idworker"},
		{line: "go install " + base + "/cmd/nope@latest"},
		{line: "go get 'x"},
		{line: "snowlease nope"},
		{line: "snowlease workers --nope"},
		{line: "echo a | snowlease decode --nope -"},
		{line: "snowlease decode 1 --preset nope"},
		{line: "snowlease decode 1", output: "something else\n"},
		{line: "go run ./examples/fxapp -nope"},
		{line: "go run ./examples/collide -deployments 1", output: "something else\n"},
		{line: "FXAPP_IDWORKER_PRESET=nope go run ./examples/fxapp -once"},
	} {
		require.Error(t, s.check(c), "%v", c)
	}
	require.Equal(t, []command{{"a b", "x\ny\n"}, {"c", ""}}, commandsOf(block{lang: "console", text: "$ a \\\nb\nx\ny\n$ c\n"}))
	words, err := split(`A=1 b 'c d' && e|f >g # h`)
	require.NoError(t, err)
	require.Equal(t, []string{"A=1", "b", "c d", "&&", "e", "|", "f", ">", "g"}, words)
}

func TestSQLFindsFaults(t *testing.T) {
	t.Parallel()
	for _, b := range []block{
		{mark: "sqlite", text: "SELECT nope FROM snowlease_slot;"},
		{mark: "mysql", text: "GRANT SELECT ON snowlease_nope TO app;"},
		{mark: "mysql", text: "SELECT nope_ms FROM snowlease_slot;"},
		{mark: "postgres", text: "SELECT 1"},
		{text: "SELECT 1;"},
	} {
		require.Error(t, checkSQL(t, b), "%v", b)
	}
	require.NoError(t, checkSQL(t, block{mark: "postgres", text: "SELECT expires_ms FROM snowlease_slot; -- ok\n"}))
}

func TestYAMLFindsFaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"idworker: {namespace: a, ttll: 30s}", "idworker: {namespace: a b}", "idworker: {namespace: a, lease: {ttl: soon}}",
		"idworker: {namespace: a}\nnope: 1", "redis: {adr: x}", "gormplugin: {scope: some}", "a: b: c",
	} {
		require.Error(t, checkYAML(text), "%s", text)
	}
	require.NoError(t, checkYAML("idworker: {namespace: a, lease: {ttl: 30s}, layout: {worker_bits: 10}, segments: [{name: b}]}\ngormplugin: {scope: tagged}"))
}
