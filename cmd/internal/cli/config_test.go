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
	const valid = " is valid; \"snowlease doctor --config\" compares it with the namespace\n"
	const example = "../../../examples/fxapp/config.example.yaml"
	code, out, errs := call(t, "", "config", "check", example)
	require.Zero(t, code, out+errs)
	require.Equal(t, example+valid, out)
	for key, text := range map[string]string{
		"app.ids": "app: {ids: {namespace: a}, port: 1, 2: [3]}",
		"":        "namespace: a",
		"empty":   "empty: {namespace: a, holder: , segments: []}",
		"merged":  "x: &x {preset: wide}\ny: &y {mode: db}\nmerged: {<<: [*x, *y, *x], namespace: a}\n",
		"alias":   "x: &x {ids: {namespace: a}}\nalias: *x\n",
	} {
		if key == "alias" {
			key = "alias.ids"
		}
		code, out, errs = call(t, text, "config", "check", "-", "--key="+key)
		require.Zero(t, code, out+errs)
		require.Equal(t, "-"+valid, out)
	}

	for name, c := range map[string]struct{ text, want string }{
		"unknown key":    {"namespace: a\nlease: {max-ttl: 1m}\n", "-:2: unknown key \"max-ttl\"\n"},
		"nothing like":   {"namespace: a\nttl: 1m\n", "-:2: unknown key \"ttl\"\n"},
		"no duration":    {"namespace: a\nlease:\n  ttl: soon\n", "-:3: wrong type: str in place of time.Duration\n"},
		"number":         {"namespace: a\nlease:\n  ttl: 30\n", "-:3: wrong type: int in place of time.Duration\n"},
		"enum":           {"namespace: a\nlease: {on_lost: panic}\n", `-:2: lease.on_lost "panic" is unknown: choose continue, shutdown`},
		"mode":           {"namespace: a\nmode: etcd\n", `-:2: mode "etcd" is unknown: choose `},
		"list":           {"namespace: a\nsegments:\n- {name: b}\n- {name: c, order: odd}\n", `-:4: segments[1].order "odd" is unknown`},
		"bits":           {"namespace: a\nlayout: {worker_bits: 256}\n", "-:2: wrong type: int in place of uint8\n"},
		"huge":           {"namespace: a\nreserved: 99999999999999999999\n", "-:2: wrong type: float in place of int64\n"},
		"twice":          {"namespace: a\nreserved: 1\nreserved: 2\n", `-:3: mapping key "reserved" already defined at line 2`},
		"semantic":       {"lease: {ttl: 30s}\nnamespace: a\nstore: {skew: 20s}\n", `-:3: store.skew 20s is not from 0 to half of lease.ttl`},
		"left out":       {"namespace: a\nsegments:\n- order: strict\n", `-:3: segments[0].name`},
		"several":        {"store: {skew: 20s}\nlease: {max_ttl: 1s}\n", "-:1: namespace is empty"},
		"another mode":   {"namespace: a\nmode: db\nsequence:\n  prefetch: 64\n", "-:3: sequence is set, but mode db counts no ids in Redis: leave it out, or set mode redis-sequence\n"},
		"in a list":      {"namespace: a\nsegments:\n- name: a\n- name: b\n  step: -1\n", "-:5: segments[1].step -1 with min_step"},
		"boolean":        {"namespace: a\nstore: {exact_times: maybe}\n", "-:2: wrong type: str in place of bool\n"},
		"no mapping":     {"5\n", "-:1: wrong type: int in place of idworker.Config\n"},
		"preset, layout": {"namespace: a\npreset: wide\nlayout: {worker_bits: 3}\n", "-:3: layout and preset \"wide\" are both set: give one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call(t, c.text, "config", "check", "--key=", "-")
			require.Equal(t, exitNo, code, out+errs)
			require.Contains(t, out, c.want)
		})
	}
	for text, want := range map[string]string{
		"a: 1\nidworker:\n  namespace: a\n  layout:\n    worker: 3\n": "-:5: unknown key \"worker\"\n",
		"x: &x {mode: never}\nidworker: *x\n":                         "-:1: mode \"never\" is unknown",
		"x: &x {mode: never}\nidworker: {<<: *x, namespace: a}\n":     "-:2: mode \"never\" is unknown",
		"idworker: 5\n": "-:1: wrong type: int in place of idworker.Config\n",
	} {
		code, out, errs := call(t, text, "config", "check", "-")
		require.Equal(t, exitNo, code, out+errs)
		require.Contains(t, out, want)
	}
	// All faults appear, each once.
	code, out, errs = call(t, "max-ttl: 1m\nlease: {ttl: 30}\nmod: db\n", "config", "check", "-", "--key=")
	require.Equal(t, exitNo, code)
	require.Equal(t, 3, strings.Count(out, "\n"), out)
	require.Contains(t, errs, "has faults: 3")
	const missing = "-: there is nothing at the key idworker: set --key to the key of the idworker configuration\n"
	for text, want := range map[string]string{
		"":                        "-: the file is empty\n",
		"~":                       "-: the file is empty\n",
		"a: [":                    "yaml: ",
		"password: *word":         "yaml: unknown anchor: quote",
		"namespace: a":            missing,
		"app: {idworker: {}}":     missing,
		"idworker:\n":             missing,
		"s3cret":                  missing,
		"idworker: &x {<<: *x}\n": "contains itself",
	} {
		code, out, errs := call(t, text, "config", "check", "-")
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, want)
		require.NotContains(t, out+errs, "s3cret")
	}
	code, _, errs = call(t, "", "config", "check", "no.yaml")
	require.Equal(t, exitFailed, code, errs)
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	code, out, _ := call(t, "", "config", "schema")
	require.Zero(t, code)
	require.Equal(t, schema.Config(), out)
	require.True(t, json.Valid([]byte(out)))
}
