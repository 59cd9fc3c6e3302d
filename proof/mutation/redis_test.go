package mutation_test

// onRedis are the scripts of redisseq, on a Redis in this process whose clock the tests
// move.
var onRedis = list{title: "redis", pkg: "redisseq", loaders: []mutant{luaLoader}, mutants: []mutant{
	// What is loaded.
	{"what an owner holds is not loaded", "redisseq/load.lua", `'o:' .. owner, 'o:' .. spent`, `'o:' .. spent`, "TestBigPool"},
	{"what an owner has given back is not loaded", "redisseq/load.lua", `'o:' .. owner, 'o:' .. spent`, `'o:' .. owner`, "TestBigPool"},
	{"a server that does not tell its incarnation is taken as unchanged", prelude, `if not (run and replid) then return { 'NORUNID' } end`, `run, replid = run or '', replid or ''`, "TestServerThatDoesNotTellItsRunID"},
	{"a server that is too old is used", "internal/redisconn/errors.go", `case unknown.MatchString(text):`, `case false:`, "TestVersions"},
	{"a server that takes no writes goes unseen", prelude, `redis.call('PERSIST', key)`, ``, "TestServerTakesNoWrites"},
	{"a retired namespace without a quarantine counts as lost", "redisseq/store.go", `raw[3] == "" && pin.Retired`, `false`, "TestKeysLostInAnyCombination"},
	{"more leases than fit one reply are not looked at", "redisseq/store.go", `want.Borrow && lent == count`, `lent < 0`, "TestMarksAhead"},
	{"the loss of a mark is not seen", "redisseq/store.go", `min(leases, owners), marks`, `min(leases, owners), leases`, mini + "the loss of a mark is seen by acquire"},
	{"the loss of a lease is not seen", "redisseq/store.go", `min(leases, owners), marks`, `owners, marks`, mini + "the loss of a slot is seen by acquire"},
	{"the loss of who holds what is not seen", "redisseq/store.go", `min(leases, owners), marks`, `leases, marks`, "TestKeysLostInAnyCombination"},
	{"what marks and owners show counts for nothing", "redisseq/store.go", `max(a.Hold, b.Hold), min(a.Hold, b.Hold), max(a.Used, b.Used)`, `min(0, a.Hold), min(0, b.Hold), 0`, mini + "a raise outlives the records of its member and of the namespace"},
	{"marks and owners show all as used", "redisseq/store.go", `max(a.Used, b.Used)`, `max(a.Hold, b.Hold)`, mini + "what the namespace allows for falls when nobody needs it"},
	{"a lease without an owner has ended", "redisseq/store.go", `if raw[0] != "" {`, `if raw[0] != "" && raw[2] != "" {`, "TestKeysLostInAnyCombination"},
	{"a record that is missing among as many as there are worker ids is taken as free", "redisseq/store.go", `slices.Contains(raw[:], "")`, `false`, "TestDamage/another mark"},
	{"a pool that shrank goes unseen", "redisseq/store.go", `most > v.Meta.Pin.Pool {`, `most < 0 {`, "TestDamage/mark in excess"},
	{"numbers are read as Lua reads them", prelude, `string.find(value, '^%d+$') and tonumber(value)`, `tonumber(value)`, "TestRenewalOfADamagedMark"},
	{"Init opens what lost its marks", "redisseq/store.go", `max(leases, owners, marks) > 0 || r[4]+r[5] != ""`, `marks > 0`, "TestKeysLostInAnyCombination"},
	// What is swapped.
	{"another record of the namespace is not seen", "redisseq/swap.lua", `if (value or '') ~= ARGV[at + i]`, `if i > 5 and (value or '') ~= ARGV[at + i]`, "TestSwapComparesWhatWasLoaded/quarantine"},
	{"another lease is not seen", "redisseq/swap.lua", `(value or '') ~= ARGV[at + i]`, `i ~= 6 and (value or '') ~= ARGV[at + i]`, "TestSwapComparesWhatWasLoaded/lease"},
	{"another mark is not seen", "redisseq/swap.lua", `(value or '') ~= ARGV[at + i]`, `i ~= 7 and (value or '') ~= ARGV[at + i]`, "TestSwapComparesWhatWasLoaded/mark"},
	{"another owner is not seen", "redisseq/swap.lua", `(value or '') ~= ARGV[at + i]`, `i ~= 8 and (value or '') ~= ARGV[at + i]`, "TestSwapComparesWhatWasLoaded/owner"},
	{"another server is not seen", "redisseq/swap.lua", ` or incarnation ~= server`, ``, "TestSwapComparesWhatWasLoaded/incarnation"},
	{"a clock that stepped back is not seen", "redisseq/swap.lua", `now < read or `, ``, "TestSwapComparesWhatWasLoaded/clock"},
	{"a change is decided by a clock of long ago", "redisseq/swap.lua", `now > read + 10000 or `, ``, "TestSwapComparesWhatWasLoaded/pause"},
	{"a swap whose reply is lost is refused", "redisseq/swap.lua", ` and not shows(is)`, ``, "TestEachScriptMayRunTwice/miniredis"},
	{"a second loss in a pause is filled in", "redisseq/swap.lua", `pool > 0 and sizes() ~= seen`, `false`, "TestSecondLossInAPause"},
	{"a ceiling is not stored", "redisseq/base.lua", `redis.call('HSET', mark, worker, ceiling)`, ``, mini + "asked again, the same owner gets the same grant"},
	{"an expiry is not stored", "redisseq/base.lua", `redis.call('ZADD', lease, expires, worker)`, ``, mini + "asked again, the same owner gets the same grant"},
	{"where an owner's slot is is not stored", "redisseq/base.lua", `redis.call('HSET', meta, 'o:' .. owner, worker)`, ``, "TestBigPool"},
	{"marks and owners show no layout", "redisseq/store.go", `carried.Used, after.Shape)`, `carried.Used, "")`, mini + "the loss of the record of the namespace lets in no other layout or pool"},
	{"marks and owners do not show a raise", "redisseq/swap.lua", `if hold ~= '' then`, `if false then`, mini + "a raise outlives the records of its member and of the namespace"},
	{"what is missing is not made anew", "redisseq/swap.lua", `math.min(from + 4096, pool) - 1`, `from - 1`, "TestContract/miniredis/lease"},
	{"what is there is made anew as well", "redisseq/swap.lua", `if not redis.call('HGET', key, worker) then`, `if true then`, mini + "the loss of one record leaves the others"},
	{"leases that are there are made anew as well", "redisseq/swap.lua", `redis.call('ZADD', lease, 'NX', worker, worker)`, `redis.call('ZADD', lease, worker, worker)`, mini + "the loss of one record leaves the others"},
	{"a step of Init begins anew", "redisseq/store.go", `return engine.ErrPartly`, `return engine.ErrChanged`, "TestInitInSteps/all"},
	{"handed out though too few replicas have it", "internal/redisconn/run.go", `out.replicas < int64(c.Replicas)`, `false`, "TestWaitReplicasLendsNothingWithoutThem"},
	// What is lent in one step.
	{"lent at once under another pin", "redisseq/lend.lua", `m[1] ~= pin or `, ``, mini + "members that differ are refused"},
	{"lent at once in a quarantine", "redisseq/lend.lua", `(int(m[3]) or now) >= now or `, ``, mini + "exact times are lent after a quarantine"},
	{"lent at once to who holds one", "redisseq/lend.lua", ` or m[4]`, ``, mini + "asked again, the same owner gets the same grant"},
	{"lent at once to who has given it back", "redisseq/lend.lua", ` or m[5]`, ``, mini + "a borrow that arrives after its grant was given back lends nothing"},
	{"lent at once by a clock far off", "redisseq/lend.lua", `caller ~= 0 and math.abs(now - caller) > off`, `false`, mini + "a client whose clock is far off is refused before anything is written"},
	{"lent at once by another server", "redisseq/lend.lua", `if incarnation ~= '' and m[2] ~= incarnation then return { 'CHANGED' } end`, ``, mini + "another incarnation is seen by every verb"},
	{"lent at once after the loss of a slot", "redisseq/lend.lua", `sizes() ~= pool .. ' ' ..`, `string.match(sizes(), ' (.*)') ~=`, "TestLossBesideAFreeWorkerID"},
	{"lent at once after the loss of a mark", "redisseq/lend.lua", `sizes() ~= pool .. ' ' .. pool + 1 .. ' ' .. pool + 1`, `string.match(sizes(), '%d+') ~= str(pool)`, "TestLossBesideAFreeWorkerID"},
	{"lent at once from the whole pool", "redisseq/lend.lua", `n >= first and n <= last and value`, `value`, mini + "requests get worker ids of their range only"},
	{"lent at once though its mark is ahead", "redisseq/lend.lua", ` and value < now then`, ` then`, mini + "a full pool says when the first worker id is free"},
	{"lent at once in the very millisecond of its mark", "redisseq/lend.lua", `value < now then`, `value <= now then`, mini + "a mark holds to its last millisecond"},
	{"numbers that no script wrote are lent by", "redisseq/lend.lua", `#text <= 15 and string.find(text, '^%d+$') and tonumber(text)`, `tonumber(text)`, mini + "a damaged record is named and lends nothing twice"},
	// What is renewed in one step.
	{"a renewal under another pin", "redisseq/renew.lua", `m[1] ~= pin or `, ``, mini + "what the namespace allows for falls when nobody needs it"},
	{"a renewal on another server", "redisseq/renew.lua", `if incarnation ~= '' and m[2] ~= incarnation then return { 'CHANGED' } end`, ``, mini + "another incarnation is seen by every verb"},
	{"a renewal of who is not the owner", "redisseq/renew.lua", ` or string.sub(owner, 1, #held) ~= held`, ``, mini + "renewal and release are fenced by owner and token"},
	{"a range below a quarantine is extended", "redisseq/renew.lua", `num(m[3], 'the quarantine') > floor or `, ``, mini + "a range below a quarantine is never extended"},
	{"renews what has expired", "redisseq/renew.lua", ` or expires < now + skew`, ``, mini + "an expired grant is lost for good"},
	{"renews without the margin of the skew", "redisseq/renew.lua", `expires < now + skew`, `expires < now`, mini + "a grant that is about to expire is lost"},
	{"a store that lost a renewal does not learn it", "redisseq/renew.lua", `math.max(value, ceiling, now`, `math.max(value, now`, mini + "a holder restores a renewal that the store lost"},
	{"a renewal lowers the mark", "redisseq/renew.lua", `math.max(value, ceiling, now`, `math.max(ceiling, now`, mini + "a renewal lowers neither the mark nor the expiry"},
	{"a renewal raises no ceiling", "redisseq/renew.lua", `math.max(value, ceiling, now + ttl, math.min(floor + ttl, now + maxTTL))`, `math.max(value, ceiling)`, mini + "a renewal raises the ceiling"},
	{"a ceiling above the longest lease", "redisseq/renew.lua", `math.min(floor + ttl, now + maxTTL)`, `floor + ttl`, mini + "a range ahead of the clock grows until the clock has caught up"},
	{"a renewal lowers the expiry", "redisseq/renew.lua", `math.max(expires, now + ttl)`, `now + ttl`, mini + "a renewal lowers neither the mark nor the expiry"},
	// Who answers.
	{"a promotion of the same process goes unseen", prelude, `run .. '/' .. replid`, `run`, "TestFailoverThereAndBack/miniredis/leases"},
	{"a restart under the same master_replid goes unseen", prelude, `run .. '/' .. replid`, `replid`, mini + "another incarnation is seen by every verb"},
	{"a server that tells half of its incarnation is believed", prelude, `if not (run and replid) then`, "replid = replid or ''\n  if not run then", "TestServerThatDoesNotTellItsRunID/a run_id alone"},
}}

// luaLoader is for all scripts of redisseq and of the packages below it.
var luaLoader = mutant{
	file: "internal/redisconn/script.go", rule: `strings.Join(texts, `, instead: `strings.Join(mutated(texts...), `,
}

const (
	mini    = "TestContract/miniredis/lease/"
	prelude = "internal/redisconn/prelude.lua"
)
