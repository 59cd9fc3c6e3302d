package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/schema"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "", "config", "check", "../../examples/fxapp/config.example.yaml")
	require.Zero(t, code, out+errs)
	require.Contains(t, out, "is in order")

	for name, c := range map[string]struct{ text, want string }{
		"unknown key":    {"namespace: a\nmax-ttl: 1m\n", `-:2:1: there is no key "max-ttl" here: do you mean max_ttl?`},
		"nothing like":   {"namespace: a\nbanana: 1m\n", `-:2:1: there is no key "banana" here` + "\n"},
		"nested":         {"idworker:\n  namespace: a\n  layout:\n    worker: 3\n", `-:4:5: there is no key "worker" here`},
		"no duration":    {"namespace: a\nttl: soon\n", `-:2:6: ttl "soon" is no duration such as 30s`},
		"number":         {"namespace: a\nttl: 30\n", `-:2:6: ttl is no string such as 30s`},
		"enum":           {"namespace: a\non_lost: panic\n", `-:2:10: on_lost "panic" is unknown: choose continue, shutdown`},
		"mode":           {"namespace: a\nmode: etcd\n", `-:2:7: mode "etcd" is unknown: choose auto, db, redis, local`},
		"list":           {"namespace: a\nmode: local\nlocal: {sources: [lock, here]}\n", `-:3:25: local.sources[1] "here" is unknown: choose explicit`},
		"bits":           {"namespace: a\nlayout: {worker_bits: 256}\n", `-:2:23: layout.worker_bits 256 is out of range: give 0 to 255`},
		"huge":           {"namespace: a\nreserved: 99999999999999999999\n", `reserved`},
		"semantic":       {"ttl: 30s\nnamespace: a\nskew: 20s\n", `-:3:1: skew 20s is not from 0 to half of ttl`},
		"several":        {"skew: 20s\nmax_ttl: 1s\n", "-:1:1: namespace is empty"},
		"boolean":        {"namespace: a\nexact_times: maybe\n", `-:2:14: exact_times`},
		"gone":           {"namespace: a\nstart: auto\n", `-:2:1: there is no key "start" here`},
		"by alias":       {"x: &x {on_lost: never}\nidworker: *x\n", `on_lost "never" is unknown`},
		"merged":         {"x: &x {on_lost: never}\nidworker: {<<: *x, namespace: a}\n", `on_lost "never" is unknown`},
		"no mapping":     {"idworker: 5\n", "idworker is no object"},
		"preset, layout": {"namespace: a\npreset: wide\nlayout: {worker_bits: 3}\n", "-:3:1: layout: preset \"wide\" and layout are both set"},
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
	// Keys and values at once, each fault once.
	code, out, errs = call(t, "namespace: a\nmax-ttl: 1m\nttl: 30s\nskew: 20s\nmode: etcd\n", "config", "check", "-")
	require.Equal(t, exitNo, code)
	require.Equal(t, 3, strings.Count(out, "\n"), out)
	require.Contains(t, errs, "has faults: 3")
	for text, want := range map[string]string{"": "it is empty", "a: [": "yaml", "password: *word": "yaml: unknown anchor: quote", "a: 1\n": "there is no key x.y"} {
		code, _, errs := call(t, text, "config", "check", "-", "--key=x.y")
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, want)
	}
	code, _, errs = call(t, "", "config", "check", "no.yaml")
	require.Equal(t, exitFailed, code, errs)
	code, out, _ = call(t, "idworker: {namespace: a, holder: , local: {sources: []}}", "config", "check", "-")
	require.Zero(t, code, out)
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	code, out, _ := call(t, "", "config", "schema")
	require.Zero(t, code)
	require.Equal(t, schema.Config(), out)
	require.True(t, json.Valid([]byte(out)))
}
