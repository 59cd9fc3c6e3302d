package simulate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a caller knows prevents many of these faults, so this check is disabled too.
const (
	known    = `if knownTick >= tickOf(quarantine) and (knownTick > tick or (knownTick == tick and knownSeq > seq)) then`
	unheeded = `if false then`
)

// TestSequenceTeeth checks that the seeds of CI find each of these faults.
func TestSequenceTeeth(t *testing.T) {
	for _, tooth := range []struct {
		name    string
		source  Source
		subject Numbers
		rule    Rule
		from    int // the seed to begin with, which found the fault; 0: the first
	}{
		{"a key that is lost is taken for a new one", Sequence, lua(t, `loss = 'nothing is on record for this namespace'`, ``, known, unheeded), Duplicate, 63},
		{"another server is not noticed", Sequence, lua(t, `elseif incarnation ~= '' and run ~= incarnation then`, `elseif false then`, known, unheeded), Duplicate, 116},
		{"the last value is given again", Sequence, lua(t, `tick, seq + 1`, `tick, seq`), Duplicate, 0},
		{"a full tick goes on in the same", Sequence, lua(t, `first + math.floor((from + n - 1) / per), (from + n - 1) % per`, `first, (from + n - 1) % per`), Duplicate, 0},
		{"a copy issues what both have", Sequence, Numbers{NoReset: true}, Foreign, 35},

		{"another server is not noticed, segments", RedisSegments, lua(t, `and run ~= incarnation then`, `and false then`), Duplicate, 41},
		{"a name that is lost is made anew", RedisSegments, lua(t, `return { 'UNKNOWN' }`, `given, run = '0', incarnation`), Duplicate, 0},
		{"a reservation that is half written", RedisSegments, lua(t, `'given', last, 'run'`, `'given', plus(given, 1), 'run'`), Duplicate, 0},
		{"resumed above what is issued, not above what processes have ahead", RedisSegments, Numbers{
			Resume: func(_, issued int64) int64 { return issued },
		}, Duplicate, 30},

		{"neither another server nor what a caller knows is heeded", Dispenser, lua(t,
			`lost = incarnation ~= '' and h.run ~= incarnation`, ``,
			`lost or following and not less(above, following)`, `lost`,
		), Duplicate, 67},
		{"what is given is not noted", Dispenser, lua(t, `h.used = h.used + count`, ``), Duplicate, 0},
	} {
		t.Run(tooth.name, func(t *testing.T) {
			t.Parallel()
			bites(t, tooth.subject, tooth.rule, examples(NumberPlans(tooth.source)), tooth.from, sources[tooth.source].seeds)
		})
	}
}

// replaced returns a function that replaces rules in a text that contains them.
func replaced(rules ...string) func(string) string { return strings.NewReplacer(rules...).Replace }

// lua is the product with some rules of its scripts replaced.
func lua(t *testing.T, rules ...string) Numbers {
	t.Helper()
	for i := 0; i < len(rules); i += 2 {
		if !strings.Contains(scripts(t), rules[i]) {
			t.Fatalf("%q stands in no script: adapt the broken variant to the code", rules[i])
		}
	}
	return Numbers{Script: replaced(rules...)}
}

// scripts returns the scripts that count numbers.
func scripts(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../internal/redisnumbers/*.lua")
	require.NoError(t, err)
	files = append(files, "../../internal/counter/counter.lua")
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}
