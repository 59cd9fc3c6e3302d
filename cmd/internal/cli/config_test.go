package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/schema"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "", "config", "check", "../../../examples/fxapp/config.example.yaml")
	require.Zero(t, code, out+errs)
	require.Equal(t, "../../../examples/fxapp/config.example.yaml: idworker is valid; \"snowlease doctor --config\" compares it with the namespace\n", out)
	_, out, _ = call(t, "app: {ids: {namespace: a}}", "config", "check", "-", "--key=app.ids")
	require.Equal(t, "-: app.ids is valid; \"snowlease doctor --config\" compares it with the namespace\n", out)
	code, out, _ = call(t, "x: &x {preset: wide}\ny: &y {mode: db}\nidworker: {<<: [*x, *y, *x], namespace: a}\n", "config", "check", "-")
	require.Zero(t, code, out)
	code, _, errs = call(t, "idworker: &x\n  namespace: a\n  <<: *x\n", "config", "check", "-")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "contains itself")
	_, out, _ = call(t, "namespace: a", "config", "check", "-")
	require.Equal(t, "-: the whole file is valid; \"snowlease doctor --config\" compares it with the namespace\n", out)

	for name, c := range map[string]struct{ text, want string }{
		"unknown key":    {"namespace: a\nlease: {max-ttl: 1m}\n", `-:2:9: unknown key "max-ttl": choose `},
		"nothing like":   {"namespace: a\nttl: 1m\n", `-:2:1: unknown key "ttl": choose business, holder, layout, lease,`},
		"nested":         {"idworker:\n  namespace: a\n  layout:\n    worker: 3\n", `-:4:5: unknown key "worker": choose business_bits, epoch,`},
		"no duration":    {"namespace: a\nlease:\n  ttl: soon\n", `-:3:8: lease.ttl "soon" is not a duration such as 30s`},
		"number":         {"namespace: a\nlease:\n  ttl: 30\n", `-:3:8: lease.ttl has the wrong type: it must be of type string, such as 30s`},
		"enum":           {"namespace: a\nlease: {on_lost: panic}\n", `-:2:18: lease.on_lost "panic" is unknown: choose continue, shutdown`},
		"mode":           {"namespace: a\nmode: etcd\n", `-:2:7: mode "etcd" is unknown: choose auto, db, redis, local`},
		"list":           {"namespace: a\nsegments:\n- {name: b}\n- {name: c, order: odd}\n", `-:4:20: segments[1].order "odd" is unknown: choose process, strict`},
		"bits":           {"namespace: a\nlayout: {worker_bits: 256}\n", `-:2:23: layout.worker_bits 256 is out of range: give 0 to 255`},
		"huge":           {"namespace: a\nreserved: 99999999999999999999\n", `reserved`},
		"semantic":       {"lease: {ttl: 30s}\nnamespace: a\nstore: {skew: 20s}\n", `-:3:9: store.skew 20s is not from 0 to half of lease.ttl`},
		"left out":       {"namespace: a\nsegments:\n- order: strict\n", `-:3:3: segments[0].name`},
		"several":        {"store: {skew: 20s}\nlease: {max_ttl: 1s}\n", "-:1:1: namespace is empty"},
		"another mode":   {"namespace: a\nmode: db\nsequence:\n  prefetch: 64\n", "-:4:3: sequence.prefetch 64 is set, but mode db counts no ids in Redis: leave it out, or set mode redis-sequence\n"},
		"in a list":      {"namespace: a\nsegments:\n- name: a\n- name: b\n  step: -1\n", "-:5:3: segments[1].step -1 with min_step"},
		"boolean":        {"namespace: a\nstore: {exact_times: maybe}\n", `-:2:22: store.exact_times`},
		"gone":           {"namespace: a\nstart: auto\n", `-:2:1: unknown key "start"`},
		"by alias":       {"x: &x {mode: never}\nidworker: *x\n", `mode "never" is unknown`},
		"merged":         {"x: &x {mode: never}\nidworker: {<<: *x, namespace: a}\n", `mode "never" is unknown`},
		"merged list":    {"x: &x {preset: wide}\ny: &y {mode: never}\nidworker: {<<: [*x, *y], namespace: a}\n", `-:2:14: idworker.mode "never" is unknown`},
		"no mapping":     {"idworker: 5\n", "idworker has the wrong type: it must be of type object"},
		"preset, layout": {"namespace: a\npreset: wide\nlayout: {worker_bits: 3}\n", "-:3:1: layout and preset \"wide\" are both set: give one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call(t, c.text, "config", "check", "-")
			require.Equal(t, exitNo, code, out+errs)
			require.Contains(t, out, c.want)
			_, out, _ = call(t, c.text, "config", "check", "--json", "-")
			for line := range strings.Lines(out) {
				var f fault
				require.NoError(t, json.Unmarshal([]byte(line), &f))
				require.Positive(t, f.Line)
			}
		})
	}
	// Faults of keys and of values appear together, each once.
	code, out, errs = call(t, "namespace: a\nmax-ttl: 1m\nlease: {ttl: 30s}\nstore: {skew: 20s}\nmode: etcd\n", "config", "check", "-")
	require.Equal(t, exitNo, code)
	require.Equal(t, 3, strings.Count(out, "\n"), out)
	require.Contains(t, errs, "has faults: 3")
	const missing = "-: there is no key idworker at the top of the file"
	for text, want := range map[string]string{
		"listen: here\nmode: debug\napp:\n  idworker: {preset: wide}\n": missing + ": name the one elsewhere: --key app.idworker\n",
		"a: {namespace: a}\nb: {c: {idworker: }}\n":                     missing + ": name the one elsewhere: --key a or --key b.c.idworker\n",
		"a: &x {b: *x}\n":      missing + ", and the file is no",
		"listen: here\na: [1]": missing + ", and the file is no idworker configuration itself: name another key with --key\n",
	} {
		code, out, errs := call(t, text, "config", "check", "-")
		require.Equal(t, exitFailed, code, out)
		require.Empty(t, out)
		require.Contains(t, errs, want)
	}
	for text, want := range map[string]string{"": "the file is empty", "a: [": "yaml", "password: *word": "yaml: unknown anchor: quote", "a: 1\n": "there is no key x.y"} {
		code, _, errs := call(t, text, "config", "check", "-", "--key=x.y")
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, want)
	}
	code, _, errs = call(t, "", "config", "check", "no.yaml")
	require.Equal(t, exitFailed, code, errs)
	code, out, _ = call(t, "idworker: {namespace: a, holder: , segments: []}", "config", "check", "-")
	require.Zero(t, code, out)
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	code, out, _ := call(t, "", "config", "schema")
	require.Zero(t, code)
	require.Equal(t, schema.Config(), out)
	require.True(t, json.Valid([]byte(out)))
}
