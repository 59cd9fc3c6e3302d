package redisseq_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/redisseq"
)

// sequenceMutants knock out one rule of sequence.lua each. killer is the promise that
// must then be found broken.
var sequenceMutants = []struct{ rule, instead, killer string }{
	// What is reserved.
	{`local first, from = tick, seq + 1`, `local first, from = tick, seq`, "values follow each other"},
	{`if current > tick then first`, `if current >= tick then first`, "a full tick goes on in the next"},
	{`if current > tick then first`, `if current ~= tick then first`, "a clock that is set back"},
	{`if current > tick then first, from = current, from % spread end`, ``, "a new tick starts at the low bits of the last value plus one"},
	{`from % spread`, `0`, "a new tick starts at the low bits of the last value plus one"},
	{`from % spread`, `from`, "a new tick starts at the low bits of the last value plus one"},
	{`if from >= per then`, `if from > per then`, "a full tick goes on in the next"},
	{`if from >= per then`, `if false then`, "a full tick goes on in the next"},
	{`tick, seq = first + math.floor((from + n - 1) / per), (from + n - 1) % per`, `tick, seq = first + math.floor((from + n) / per), (from + n) % per`, "values follow each other"},
	{`tick, seq = first + math.floor((from + n - 1) / per), (from + n - 1) % per`, `tick, seq = first, math.min(from + n - 1, per - 1)`, "a full tick goes on in the next"},
	{`if tick > limit then tick, seq = limit, per - 1 end`, ``, "the lead is MaxAhead"},
	{`tick, seq = limit, per - 1 end`, `tick, seq = limit, 0 end`, "the lead is MaxAhead"},
	{`if first > limit then return answer('EXHAUSTED'`, `if false then return answer('EXHAUSTED'`, "the lead is MaxAhead"},
	{`(first - ahead) * unit - at`, `first * unit - now`, "the lead is waited for"},
	{`math.floor((at - epoch) / unit) + ahead, last)`, `math.floor((at - epoch) / unit) + ahead + 1, last)`, "the lead is MaxAhead"},
	{`math.floor((at - epoch) / unit) + ahead, last)`, `math.floor((now - epoch) / unit) + ahead, last)`, "a clock that is set back"},
	{`math.floor((at - epoch) / unit) + ahead, last)`, `math.max(tick, math.floor((at - epoch) / unit)) + ahead, last)`, "the lead is MaxAhead"},
	{`math.floor((at - epoch) / unit) + ahead, last)`, `math.floor((at - epoch) / unit) + ahead)`, "the time field has an end"},
	{`or first > last then`, `then`, "the time field has an end"},
	{`if current < 0 or`, `if`, "the time field has a start"},
	{`if n == 0 then`, `if false then`, "a look reserves nothing"},
	{`'tick', str(tick), 'seq', str(seq),`, `'tick', str(tick), 'seq', '0',`, "values follow each other"},
	// The clock.
	{`at = at + math.floor(step / 2)`, `at = at + step`, "a clock that is set back"},
	{`at = at + math.floor(step / 2)`, ``, "a clock that is set back"},
	{`if step > 0 and`, `if`, "a clock that is set back"},
	{`(step <= 1000000 or loss)`, `true`, "a clock that is set back and forth does not run ahead"},
	{`(step <= 1000000 or loss)`, `step <= 1000000`, "another incarnation while the clock is behind"},
	{`at = math.max(at, now)`, `at = now`, "a clock that is set back"},
	{`at = math.max(at, now)`, ``, "values follow each other"},
	{`'seen', str(now)`, `'seen', str(seen)`, "a clock that is set back"},
	{`return answer('EXHAUSTED', str(epoch + (first - ahead) * unit - at))`, `return { 'EXHAUSTED', str(epoch + (first - ahead) * unit - at) }`, "an outage of the lead while the clock is behind ends"},
	// Who may ask.
	{`if caller ~= 0 and`, `if false and`, "a clock far off is refused before anything is written"},
	{`math.abs(now - caller) > off`, `now - caller > off`, "a clock far off is refused before anything is written"},
	{`if pinned and pinned ~= pin then`, `if false then`, "members that differ are refused"},
	{`if onChange and not id then return { 'NORUNID' } end`, `id = id or '?'`, "a server that does not tell its run_id"},
	{`if major and tonumber(major) * 1000`, `if false and tonumber(major) * 1000`, "old servers are refused"},
	{`tonumber(major) * 1000 + tonumber(minor) < 6002`, `tonumber(major) + tonumber(minor) / 10 < 6.2`, "old servers are refused"},
	{`redis.call('PERSIST', state)`, ``, "the key has no TTL"},
	{`string.find(value, '^%d+$') and tonumber(value)`, `tonumber(value)`, "damage is told"},
	// What is lost.
	{`loss = 'nothing is on record for this namespace'`, ``, "a new namespace waits for MaxAhead, a tick and Skew"},
	{`loss = 'the record of the namespace was incomplete'`, ``, "what is lost starts a quarantine"},
	{`elseif not (pinned and run`, `elseif not (run`, "what is lost starts a quarantine"},
	{`(pinned and run and quarantine and`, `(pinned and quarantine and`, "what is lost starts a quarantine without a run_id"},
	{`and quarantine and tick and seq`, `and tick and seq`, "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and seq and seen and at) then`, "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seen and at) then`, "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seq and at) then`, "what is lost starts a quarantine"},
	{`and tick and seq and seen and at) then`, `and tick and seq and seen) then`, "what is lost starts a quarantine"},
	{`elseif onChange and run ~= id then`, `elseif false then`, "another incarnation starts a quarantine"},
	{`id = id and replid and id .. '/' .. replid`, ``, "a promotion of the same process starts a quarantine"},
	{`id = id and replid and id .. '/' .. replid`, `id = replid`, "another incarnation starts a quarantine"},
	{`prev, run = run, id end`, `prev = run end`, "another incarnation starts a quarantine"},
	{`prev == id and num(quarantine, 'the quarantine') >= now`, `false`, "an incarnation that flips is named"},
	{`prev == id and num(quarantine, 'the quarantine') >= now`, `prev == id`, "an incarnation that comes back later is no flip"},
	{`(ahead + 1) * unit + skew`, `ahead * unit + skew`, "what is lost starts a quarantine"},
	{`(ahead + 1) * unit + skew`, `(ahead + 1) * unit`, "what is lost starts a quarantine"},
	{`(ahead + 1) * unit + skew`, `unit + skew`, "what is lost starts a quarantine"},
	{`if quarantine >= now then`, `if false then`, "what is lost starts a quarantine"},
	{`if quarantine >= now then`, `if quarantine > now then`, "a new namespace waits for MaxAhead, a tick and Skew"},
	{`str(math.floor(quarantine / 1000) + 1)`, `str(math.floor(quarantine / 1000))`, "a new namespace waits for MaxAhead, a tick and Skew"},
	{`quarantine, why = math.max(quarantine, at + wait), loss`, `quarantine, why = math.max(quarantine, now + wait), loss`, "a loss while the clock is behind waits for it"},
	{`quarantine, why = math.max(quarantine, at + wait), loss`, `quarantine, why = now + wait, loss`, "a second loss prolongs the quarantine"},
	{`quarantine, why = math.max(quarantine, at + wait), loss`, `if quarantine < now then quarantine = at + wait end why = loss`, "a second loss prolongs the quarantine"},
	{`quarantine, why = math.max(quarantine, at + wait), loss`, `quarantine = math.max(quarantine, at + wait)`, "a new namespace waits for MaxAhead, a tick and Skew"},
	{`'why', why,`, ``, "another incarnation starts a quarantine"},
	{`quarantine = 0 --`, `--`, "a quarantine that is over stays so"},
	// What a caller knows.
	{`if knownTick > tick or`, `if false or`, "a caller that knows more starts a quarantine"},
	{`(knownTick == tick and knownSeq > seq)`, `false`, "a caller that knows more starts a quarantine"},
	{`(knownTick == tick and knownSeq > seq)`, `knownTick == tick`, "a caller that knows what everybody knows"},
	{`knownSeq > seq)`, `knownSeq >= seq)`, "a caller that knows what everybody knows"},
	{`tick, seq = knownTick, knownSeq`, ``, "a caller that knows more corrects a quarantine"},
	{`at = math.max(at, least)`, ``, "a caller that knows more measures the lead"},
	{`loss = loss or 'ids were given out that are not on record'`, ``, "a caller that knows more starts a quarantine"},
	{`quarantine = math.max(quarantine, least + wait)`, `loss = 'x'`, "a caller that knows more does not prolong a quarantine"},
	{`quarantine = math.max(quarantine, least + wait)`, ``, "a caller that knows more corrects a quarantine"},
}

// A recorder is a test whose failure is noted.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}

// broken reports whether a rule finds that script does not keep it.
func broken(t *testing.T, script string, rule func(rig), options ...redisseq.Option) bool {
	t.Helper()
	tb := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rule(rig{newMini(t, options...), tb, script})
	}()
	<-done
	return tb.failed
}

// TestSequenceRulesHaveTeeth runs sequence.lua without one rule at a time.
func TestSequenceRulesHaveTeeth(t *testing.T) {
	t.Parallel()
	for _, m := range sequenceMutants {
		t.Run(m.killer+"/"+m.instead, func(t *testing.T) {
			t.Parallel()
			rule := sequenceRules[m.killer]
			require.NotNil(t, rule)
			script := redisseq.SequenceScript()
			require.Equal(t, 1, strings.Count(script, m.rule), "%q stands in sequence.lua once", m.rule)
			require.True(t, broken(t, strings.Replace(script, m.rule, m.instead, 1), rule), "%q is now %q and %q does not see it", m.rule, m.instead, m.killer)
		})
	}
}
