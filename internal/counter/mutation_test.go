//go:build prove

package counter_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/redisseq"
)

// sequenceMutants each remove one rule of counter.lua. killer is the promise that must
// then fail. proof/mutation has more.
var sequenceMutants = []struct{ rule, instead, killer string }{
	// Reserved values.
	{`if least > tick then first`, `if least >= tick then first`, "a full tick goes on in the next"},
	{`if least > tick then first, from = least, from % spread end`, ``, "a new tick starts at the low bits of the last value plus one"},
	{`from % spread`, `0`, "a new tick starts at the low bits of the last value plus one"},
	{`from % spread`, `from`, "a new tick starts at the low bits of the last value plus one"},
	{`if from >= per then`, `if from > per then`, "a full tick goes on in the next"},
	{`tick, seq = first + math.floor((from + n - 1) / per), (from + n - 1) % per`, `tick, seq = first + math.floor((from + n) / per), (from + n) % per`, "values follow each other"},
	{`tick, seq = first + math.floor((from + n - 1) / per), (from + n - 1) % per`, `tick, seq = first, math.min(from + n - 1, per - 1)`, "a full tick goes on in the next"},
	{`tick, seq = limit, per - 1 end`, `tick, seq = limit, 0 end`, "the lead is MaxAhead"},
	{`str(enters - at)`, `str(epoch + first * unit - now)`, "the lead is waited for"},
	{`tickOf(at) + ahead, last)`, `tickOf(at) + ahead + 1, last)`, "the lead is MaxAhead"},
	{`tickOf(at) + ahead, last)`, `tickOf(now) + ahead, last)`, "a clock that is set back"},
	{`tickOf(at) + ahead, last)`, `math.max(tick, tickOf(at)) + ahead, last)`, "the lead is MaxAhead"},
	{`or first > last then`, `then`, "the time field has an end"},
	{`if current < 0 or`, `if`, "the time field has a start"},
	{`if n == 0 then`, `if false then`, "a look reserves nothing"},
	// The clock.
	{`at = at + math.floor(step / 2)`, ``, "a clock that is set back"},
	{`if step > 0 and`, `if`, "a clock that is set back"},
	{`(step <= 1000000 or loss)`, `step <= 1000000`, "another incarnation while the clock is behind"},
	{`str(math.max(at, now))`, `str(now)`, "a clock that is set back"},
	{`str(math.max(at, now))`, `str(at)`, "values follow each other"},
	{`'seen', str(now)`, `'seen', str(seen)`, "a clock that is set back"},
	{`return answer('EXHAUSTED', str(enters - at))`, `return { 'EXHAUSTED', str(enters - at) }`, "an outage of the lead while the clock is behind ends"},
	// Callers that are refused.
	{`math.abs(now - caller) > off`, `now - caller > off`, "a clock far off is refused before anything is written"},
	{`return major and tonumber(major) * 1000`, `return false and tonumber(major) * 1000`, "old servers are refused"},
	{`tonumber(major) * 1000 + tonumber(minor) < 6002`, `tonumber(major) + tonumber(minor) / 10 < 6.2`, "old servers are refused"},
	{`string.find(value, '^%d+$') and tonumber(value)`, `tonumber(value)`, "damage is told"},
	// Losses.
	{`elseif not (pinned and run`, `elseif not (run`, "what is lost starts a quarantine"},
	{`(pinned and run and quarantine and`, `(pinned and quarantine and`, "what is lost starts a quarantine without a run_id"},
	{`and quarantine and tick and seq`, `and tick and seq`, "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and seq and seen and at) then`, "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seen and at) then`, "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seq and at) then`, "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seq and seen) then`, "what is lost starts a quarantine"},
	{`return run and replid and run .. '/' .. replid,`, `return run,`, "a promotion of the same process starts a quarantine"},
	{`return run and replid and run .. '/' .. replid,`, `return replid,`, "another incarnation starts a quarantine"},
	{`prev, run = run, id end`, `prev = run end`, "another incarnation starts a quarantine"},
	{`prev == id and num(quarantine, 'the quarantine') >= now`, `false`, "the error names an incarnation that flips"},
	{`prev == id and num(quarantine, 'the quarantine') >= now`, `prev == id`, "an incarnation that comes back later is no flip"},
	{`if loss then quarantine, why = math.max(quarantine, at + (ahead + 1) * unit + skew), loss end`, `if loss then quarantine, why = at + (ahead + 1) * unit + skew, loss end`, "a second loss prolongs the quarantine"},
	{`quarantine, why = math.max(quarantine, at + (ahead + 1) * unit + skew), loss end`, `quarantine = math.max(quarantine, at + (ahead + 1) * unit + skew) end`, "a new namespace waits for Skew and the end of a tick"},
	{`'why', why,`, ``, "another incarnation starts a quarantine"},
	{`math.max(current, tickOf(quarantine))`, `math.max(current, tickOf(quarantine) + 1)`, "a new namespace waits for Skew and the end of a tick"},
	{`if quarantine > 0 and ready > now then`, `if false then`, "what is lost starts a quarantine"},
	{`if quarantine > 0 and ready > now then`, `if quarantine > 0 then at = math.max(at, enters) elseif false then`, "loss after loss"},
	{`if quarantine > 0 and ready`, `if ready`, "the lead is MaxAhead"},
	{`ready > now then`, `ready >= now then`, "a new namespace waits for Skew and the end of a tick"},
	{`exact and quarantine + 1`, `exact and quarantine`, "exact times wait for MaxAhead too"},
	{`math.min(enters, now + 2 * (enters - at))`, `enters`, "a loss while the clock is behind"},
	{`2 * (enters - at)`, `enters - at`, "a loss while the clock is behind"},
	{`math.ceil(ready / 1000)`, `math.floor(ready / 1000)`, "exact times wait for MaxAhead too"},
	{`quarantine = 0 --`, `--`, "a quarantine that is over stays so"},
	// Times that no clock has shown.
	{`'the quarantine', latest + skew + unit * (ahead + 1))`, `'the quarantine')`, "a time that no clock has shown is damage"},
	// What the caller knows.
	{`(knownTick == tick and knownSeq > seq)`, `false`, "a caller that knows more starts a quarantine"},
	{`(knownTick == tick and knownSeq > seq)`, `knownTick == tick`, "a caller that knows what everybody knows"},
	{`knownSeq > seq)`, `knownSeq >= seq)`, "a caller that knows what everybody knows"},
	{`knownTick >= tickOf(quarantine) and`, ``, "a caller that knows more does not prolong a quarantine"},
	{`knownTick >= tickOf(quarantine)`, `knownTick > tickOf(quarantine)`, "a caller that knows more starts a quarantine"},
	{`knownTick >= tickOf(quarantine)`, `quarantine < now`, "a caller that knows more corrects a quarantine"},
	{`loss = loss or 'ids were given out that are not on record'`, ``, "a caller that knows more starts a quarantine"},
}

// A recorder is a test that records its failure.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}

// broken reports whether a rule fails on script.
func broken(t *testing.T, script string, rule func(rig), options ...redisseq.Option) bool {
	t.Helper()
	tb := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rule(rig{redistest.NewMini(t, options...), tb, script})
	}()
	<-done
	return tb.failed
}

// TestSequenceRulesHaveTeeth runs counter.lua with one rule removed at a time.
func TestSequenceRulesHaveTeeth(t *testing.T) {
	t.Parallel()
	for _, m := range sequenceMutants {
		t.Run(m.killer+"/"+m.instead, func(t *testing.T) {
			t.Parallel()
			rule := sequenceRules[m.killer]
			require.NotNil(t, rule)
			require.True(t, broken(t, without(t, m.rule, m.instead), rule), "%q is now %q and %q does not see it", m.rule, m.instead, m.killer)
		})
	}
}

// TestSequenceSimulationHasTeeth: without any one part of the bound on forgotten values,
// or of the wait, values repeat.
func TestSequenceSimulationHasTeeth(t *testing.T) {
	t.Parallel()
	const lead = `local limit = math.min(tickOf(at) + ahead, last)`
	for name, changes := range map[string][]string{
		"a bound one tick lower":      {`(ahead + 1) * unit + skew`, `ahead * unit + skew`},
		"a bound without the skew":    {`(ahead + 1) * unit + skew`, `(ahead + 1) * unit`},
		"a bound without the lead":    {`(ahead + 1) * unit + skew`, `unit + skew`},
		"a bound from a clock behind": {`math.max(quarantine, at + (ahead`, `math.max(quarantine, now + (ahead`},
		"a second loss not added":     {`if loss then quarantine, why`, `if loss and quarantine < now then quarantine, why`},
		"no wait":                     {`ready > now then`, `false then`, lead, `local limit = math.max(tickOf(at) + ahead, quarantine > 0 and first or 0)`},
		"a wait of a tick less":       {`ready > now then`, `ready > now + unit then`, lead, `local limit = tickOf(at) + ahead + (quarantine > 0 and 1 or 0)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.True(t, broken(t, without(t, changes...), func(r rig) { random(r.t, r.script) }))
		})
	}
}

// without returns the script with rules replaced.
func without(t *testing.T, changes ...string) string {
	t.Helper()
	script := counter.Script()
	for i := 0; i < len(changes); i += 2 {
		require.Equal(t, 1, strings.Count(script, changes[i]), "%q stands in counter.lua once", changes[i])
		script = strings.Replace(script, changes[i], changes[i+1], 1)
	}
	return script
}
