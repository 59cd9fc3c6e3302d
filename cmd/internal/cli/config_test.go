package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	const valid = " is valid; \"snowlease doctor --config\" compares it with the namespace\n"
	const example = "../../../examples/fxapp/config.example.yaml"
	require.Equal(t, example+valid, in(t).ok("check "+example))
	in(t).exits(exitFailed, "check no.yaml", "no.yaml")
	few := writeFile(t, "idworker: {namespace: a, layout: {worker_bits: 20}}")
	in(t).ok("check "+few, few+": layout: only 4 ids in 1ms for each worker id: set worker bits to 17 and sequence bits to 5\n"+few+valid)
	check := func(code int, key, text, want string) string {
		t.Helper()
		got, out, errs := call(t, text, "check", "-", "--key="+key)
		require.Equal(t, code, got, text+out+errs)
		require.Contains(t, map[bool]string{true: errs, false: out}[code == exitFailed], want, text)
		require.NotContains(t, out+errs, "s3cret")
		return out + errs
	}
	for key, text := range map[string]string{
		"app.ids":   "app: {ids: {namespace: a}, port: 1, 2: [3]}",
		"":          "namespace: a",
		"empty":     "empty: {namespace: a, holder: , segments: []}",
		"merged":    "x: &x {preset: wide}\ny: &y {mode: db}\nmerged: {<<: [*x, *y, *x], namespace: a}\n",
		"alias.ids": "x: &x {ids: {namespace: a}}\nalias: *x\n",
	} {
		check(0, key, text, "-"+valid)
	}
	for text, want := range map[string]string{
		"namespace: a\nlease: {max-ttl: 1m}\n":                           "-:2: unknown key \"max-ttl\"\n",
		"namespace: a\nlease:\n  ttl: soon\n":                            "-:3: wrong type: str in place of time.Duration\n",
		"namespace: a\nlease:\n  ttl: 30\n":                              "-:3: wrong type: int in place of time.Duration\n",
		"namespace: a\nmode: mongo\n":                                    `-:2: mode "mongo" is unknown: choose auto, db`,
		"namespace: a\nsegments:\n- {name: b}\n- {name: c, start: -1}\n": `-:4: segments[1].start -1 is not from 1`,
		"namespace: a\nlayout: {worker_bits: 30}\n":                      "-:2: layout: snowflake: layout: worker bits 30 are not 1 to 20\n",
		"namespace: a\nlayout: {epoch: 1577808000}\n":                    "-:2: layout: snowflake: layout: epoch 1577808000 is 1970-01-19T06:16:48Z, before 2000: give Unix milliseconds, as 1577808000000 for",
		"namespace: a\nlayout: {worker_bits: 256}\n":                     "-:2: wrong type: int in place of uint8\n",
		"namespace: a\nreserved: 99999999999999999999\n":                 "-:2: wrong type: float in place of int64\n",
		"namespace: a\nreserved: 1\nreserved: 2\n":                       `-:3: mapping key "reserved" already defined at line 2`,
		"lease: {ttl: 30s}\nnamespace: a\nstore: {skew: 20s}\n":          `-:3: store.skew 20s is not from 0 to half of lease.ttl`,
		"namespace: a\nsegments:\n- strict: true\n":                      `-:3: segments[0].name`,
		"store: {skew: 20s}\nlease: {max_ttl: 1s}\n":                     "-:1: namespace is empty",
		"namespace: a\nmode: db\nsequence:\n  prefetch: 64\n":            "-:3: sequence is set, but mode db counts no ids in Redis: leave it out, or set mode redis-sequence\n",
		"namespace: a\nsegments:\n- name: a\n- name: b\n  step: -1\n":    "-:5: segments[1].step -1 with min_step",
		"namespace: a\nstore: {exact_times: maybe}\n":                    "-:2: wrong type: str in place of bool\n",
		"5\n": "-:1: wrong type: int in place of idworker.Config\n",
		"namespace: a\npreset: wide\nlayout: {worker_bits: 3}\n": "-:3: layout and preset \"wide\" are both set: give one of them",
	} {
		check(exitNo, "", text, want)
	}
	for text, want := range map[string]string{
		"a: 1\nidworker:\n  namespace: a\n  layout:\n    worker: 3\n": "-:5: unknown key \"worker\"\n",
		"x: &x {mode: never}\nidworker: *x\n":                         "-:1: mode \"never\" is unknown",
		"x: &x {mode: never}\nidworker: {<<: *x, namespace: a}\n":     "-:2: mode \"never\" is unknown",
	} {
		check(exitNo, "idworker", text, want)
	}
	all := check(exitNo, "", "max-ttl: 1m\nlease: {ttl: 30}\nmod: db\n", "unknown key \"mod\"\n")
	require.Equal(t, 4, strings.Count(all, "\n"), "each fault once, and their number: %s", all)
	require.Contains(t, all, "has faults: 3\n")
	const missing = "-: there is nothing at the key idworker: set --key to the key of the idworker configuration\n"
	for text, want := range map[string]string{
		"":                        "-: the file is empty\n",
		"~":                       "-: the file is empty\n",
		"a: [":                    "yaml: ",
		"password: *s3cret":       "yaml: unknown anchor: quote",
		"namespace: a":            missing,
		"app: {idworker: {}}":     missing,
		"idworker:\n":             missing,
		"s3cret":                  missing,
		"idworker: &x {<<: *x}\n": "contains itself",
	} {
		check(exitFailed, "idworker", text, want)
	}
}
