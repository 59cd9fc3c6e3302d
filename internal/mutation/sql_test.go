package mutation_test

const (
	statements = "dbseq/sql/sqlite.sql"
	onTheClock = "TestContractByAClock/lease/"
	atTheClaim = "TestClaimChecksAllAgain/"
)

// onSQL are the statements of dbseq on SQLite, by a clock that the tests move, and what
// it decides between them. A condition that only another one makes superfluous is left
// out: the claim looks at all again that the list of free slots was made by.
var onSQL = list{title: "sql", pkg: "dbseq", loaders: []mutant{sqlLoader}, mutants: []mutant{
	// What is damaged.
	{"numbers are taken as they are read", "dbseq/errors.go", `if n < 0 || n > most {`, `if false {`, "TestHarmedRows/sqlite"},
	{"a row whose numbers are out of bounds is written to", "dbseq/statement.go", `"{sound}", sound,`, `"{sound}", "1 = 1",`, "TestHarmedRows/sqlite"},
	// What is lent.
	{"free though its mark is ahead", statements, "hwm_ms < {now}\n ORDER" + and + "hwm_ms < {now}\n   AND {now}", "1 = 1\n ORDER" + and + "1 = 1\n   AND {now}", onTheClock + "a worker id whose mark is ahead is not lent though it was given back"},
	{"claims what was read, whatever was lent meanwhile", statements, `ver = ?7 AND expires_ms < {now} AND hwm_ms < {now}`, `1 = 1`, atTheClaim + "a loan"},
	{"claims what was used ahead meanwhile", statements, `ver = ?7 AND expires_ms < {now} AND hwm_ms < {now}`, `expires_ms < {now}`, atTheClaim + "a loan that was given back, used ahead"},
	{"claims what was lent and given back meanwhile", statements, ` AND ver = ?7`, ``, atTheClaim + "a loan that was given back"},
	{"claims in a quarantine that has begun meanwhile", statements, ` AND quarantine_ms < {now})`, `)`, "TestClaimChecksAgain/sqlite"},
	{"claims on a server that is another meanwhile", statements, `AND {same} AND quarantine_ms < {now})`, `AND quarantine_ms < {now})`, "TestClaimChecksAgain/sqlite"},
	{"claims among members of another layout", statements, ` AND pin = ?10`, ``, atTheClaim + "members of another layout"},
	{"claims by a clock that has stepped ahead", statements, `AND {now} BETWEEN ?8 AND ?9`, ``, atTheClaim + "a clock that steps ahead"},
	{"claims by a clock that has stepped back", statements, `AND {now} BETWEEN ?8 AND ?9`, `AND {now} <= ?9`, atTheClaim + "a clock that steps back"},
	{"soonest by the expiry alone", statements, `MIN(MAX(expires_ms, hwm_ms))`, `MIN(expires_ms)`, onTheClock + "a full pool says when the first worker id is free"},
	{"soonest of the whole pool", statements, `MIN(MAX(expires_ms, hwm_ms)) FILTER (WHERE slot BETWEEN ?3 AND ?4)`, `MIN(MAX(expires_ms, hwm_ms))`, onTheClock + "worker ranges are kept"},
	{"soonest a millisecond early", "dbseq/acquire.go", `max(v.soonest+1, v.now)`, `max(v.soonest, v.now)`, onTheClock + "a full pool says when the first worker id is free"},
	{"lends from the whole pool", statements, "WHERE ns = ?1 AND slot BETWEEN ?2 AND ?3 AND", "WHERE ns = ?1 AND ?2 <= ?3 AND", onTheClock + "worker ranges are kept"},
	{"the ceiling is not stored", statements, "expires_ms = {now} + ?4, hwm_ms = {now} + ?4", "expires_ms = {now} + ?4", onTheClock + "asked again, the same owner gets the same grant"},
	{"the expiry is not stored", statements, "expires_ms = {now} + ?4, hwm_ms = {now} + ?4", "hwm_ms = {now} + ?4", onTheClock + "a renewal raises the ceiling"},
	{"the token stays", statements, `token = MAX(token, {now}) + 1, floor_ms`, `token = token, floor_ms`, onTheClock + "a renewal raises the ceiling"},
	{"a floor below the clock", "dbseq/acquire.go", `max(r.mark, now-1)`, `r.mark`, onTheClock + "a worker id is lent to one holder at a time"},
	{"a retried acquire takes another slot", "dbseq/acquire.go", `if v.own >= 0 {`, `if false {`, onTheClock + "asked again, the same owner gets the same grant"},
	{"a retried acquire has another floor", statements, `floor_ms = MAX(hwm_ms, {now} - 1)`, `floor_ms = {now} + ?4 - 1`, onTheClock + "asked again, the same owner gets the same grant"},
	{"a retried acquire has another ceiling", "dbseq/acquire.go", `Ceiling: r.mark, Since`, `Ceiling: r.now + ms(k.req.TTL), Since`, onTheClock + "asked again, the same owner gets the same grant"},
	{"a retried acquire waits for what has expired", statements, `owner = ?5 AND expires_ms >= {now} + ?6), -1)`, `owner = ?5), -1)`, onTheClock + "a grant is told again until the skew before its end"},
	{"a retried acquire without the margin of the skew", statements, `AND expires_ms >= {now} + ?6)`, `AND expires_ms >= {now})`, onTheClock + "a grant is told again until the skew before its end"},
	// Who may ask.
	{"a clock far off is not refused", "dbseq/look.go", `!k.veto || k.args`, `true || k.args`, onTheClock + "a client whose clock is far off is refused before anything is written"},
	{"no pin", "dbseq/look.go", `v.there && v.pin != pin {`, `v.there && pin == "" {`, onTheClock + "members that differ are refused"},
	{"Init opens what lost its pin", "dbseq/init.go", `err != nil || v.there || v.total > 0`, `err != nil || v.there`, onTheClock + "Init opens at once, and only what is new"},
	// Who holds.
	{"renewal is fenced by token alone", statements, "AND owner = ?5 AND token = ?6 AND expires_ms", "AND ?5 <> '' AND token = ?6 AND expires_ms", onTheClock + "renewal and release are fenced by owner and token"},
	{"renewal is fenced by owner alone", statements, "AND owner = ?5 AND token = ?6 AND expires_ms", "AND owner = ?5 AND ?6 >= 0 AND expires_ms", onTheClock + "renewal and release are fenced by owner and token"},
	{"release is fenced by token alone", statements, "AND owner = ?4 AND token = ?5\n", "AND ?4 <> '' AND token = ?5\n", onTheClock + "renewal and release are fenced by owner and token"},
	{"release is fenced by owner alone", statements, "AND owner = ?4 AND token = ?5\n", "AND owner = ?4 AND ?5 >= 0\n", onTheClock + "renewal and release are fenced by owner and token"},
	{"renews what has expired", statements, "AND expires_ms >= {now} + ?7\n", "AND ?7 >= 0\n", onTheClock + "an expired grant is lost for good"},
	{"revives an expired grant after a failover", statements, "AND expires_ms >= {now} + ?7\n", "AND ?7 >= 0\n", onTheClock + "after a failover a former owner cannot renew"},
	{"renews without the margin of the skew", statements, "AND expires_ms >= {now} + ?7\n", "AND expires_ms >= {now} + 0 * ?7\n", onTheClock + "a grant that is about to expire is lost"},
	{"a store that lost a renewal does not learn it", statements, `MAX(hwm_ms, ?1, {now} + ?2)`, `MAX(hwm_ms, 0 * ?1, {now} + ?2)`, onTheClock + "a store that lost a renewal learns it from the holder"},
	{"a renewal lowers the mark", statements, `MAX(hwm_ms, ?1, {now} + ?2)`, `MAX(0 * ?1, {now} + ?2)`, onTheClock + "a renewal lowers neither the mark nor the expiry"},
	{"a renewal's ceiling is not stored", statements, `hwm_ms = MAX(hwm_ms, ?1, {now} + ?2)`, `hwm_ms = MAX(hwm_ms, 0 * ?1)`, onTheClock + "a renewal raises the ceiling"},
	{"a renewal raises no ceiling", "dbseq/renew.go", `g.Now, g.Ceiling = now, max(ceiling, now+ms(g.TTL))`, `g.Now = now`, onTheClock + "a renewal raises the ceiling"},
	{"a renewal does not learn of the one whose reply was lost", "dbseq/renew.go", `ceiling := max(g.Ceiling, v.mark)`, `ceiling := g.Ceiling`, onTheClock + "a renewal lowers neither the mark nor the expiry"},
	{"a renewal lowers the expiry", statements, `expires_ms = MAX(expires_ms, {now} + ?2)`, `expires_ms = {now} + ?2`, onTheClock + "a renewal lowers neither the mark nor the expiry"},
	{"the last use is not held above the floor", "dbseq/release.go", `max(g.Floor, min(lastUsed, g.Ceiling))`, `max(0, min(lastUsed, g.Ceiling))`, onTheClock + "a release holds the last use within the grant"},
	{"the last use is not held below the ceiling", "dbseq/release.go", `max(g.Floor, min(lastUsed, g.Ceiling))`, `max(g.Floor, lastUsed)`, onTheClock + "a release holds the last use within the grant"},
	{"a release leaves the mark at the ceiling", statements, `hwm_ms = ?1` + "\n", `hwm_ms = MAX(hwm_ms, ?1)` + "\n", onTheClock + "a release frees the worker id at once"},
	{"a release forgets the last use", statements, `hwm_ms = ?1` + "\n", `hwm_ms = 0 * ?1` + "\n", onTheClock + "a release holds the last use within the grant"},
	{"given back, but not free at once", statements, `expires_ms = {now} - 1,`, `expires_ms = {now} + 1000,`, onTheClock + "a release frees the worker id at once"},
	{"given back, but its owner may renew", statements, `SET owner = '', holder = '',`, `SET holder = '',`, onTheClock + "a released grant is lost"},
	// What is lost.
	{"acquire does not look for a loss", "dbseq/acquire.go", `c.survey(ctx, k)`, `c.look(ctx, k)`, onTheClock + "the loss of a slot is seen by acquire"},
	{"renew does not look for a loss", "dbseq/renew.go", `c.survey(ctx, k)`, `c.look(ctx, k)`, onTheClock + "the loss of a slot is seen by renew"},
	{"release does not look for a loss", "dbseq/release.go", `c.survey(ctx, k)`, `c.look(ctx, k)`, onTheClock + "the loss of a slot is seen by release"},
	{"an empty namespace lends at once", statements, `CASE WHEN ?3 > 0 THEN {now} + ?3 ELSE 0 END`, `0 * ?3`, onTheClock + "a namespace that was never opened is in quarantine first"},
	{"the loss of a slot is not seen", "dbseq/look.go", `if v.known < k.req.Pool {`, `if false {`, onTheClock + "the loss of a slot is seen by acquire"},
	{"the loss of the pin is not seen", "dbseq/look.go", "change := k.q.lost\n\tif !v.there {", "change := k.q.lost\n\tif !v.there && v.total == 0 {", onTheClock + "the loss of the record of the namespace is seen by acquire"},
	{"incarnations are not compared", "dbseq/look.go", `if v.there && k.q.compared && v.incarnation != v.recorded {` + "\n\t\tchange", `if false {` + "\n\t\tchange", onTheClock + "another incarnation is seen by every verb"},
	{"another incarnation is seen, not noted", statements, `incarnation = CASE WHEN {same} THEN incarnation ELSE {incarnation} END`, `incarnation = incarnation`, onTheClock + "another incarnation is seen by every verb"},
	{"an incarnation that flips is not named", statements, `former = CASE WHEN {same} THEN former ELSE incarnation END`, `former = ''`, onTheClock + "an incarnation that flips is named"},
	{"no quarantine", "dbseq/acquire.go", `if v.quarantine >= v.now {`, `if false {`, onTheClock + "a quarantine ends, and what is lent then lies above it"},
	{"a quarantine that ends in the millisecond before", "dbseq/acquire.go", `if v.quarantine >= v.now {`, `if v.quarantine > v.now {`, onTheClock + "a quarantine holds to its last millisecond"},
	{"a quarantine of the newcomer's TTL", "dbseq/look.go", `ms(k.req.MaxTTL + k.req.Skew)`, `ms(k.req.TTL + k.req.Skew)`, onTheClock + "a quarantine lasts as long as the longest lease"},
	{"a quarantine without the skew", "dbseq/look.go", `ms(k.req.MaxTTL + k.req.Skew)`, `ms(k.req.MaxTTL)`, onTheClock + "a quarantine lasts as long as the longest lease"},
	{"a second loss cuts the quarantine short", statements, `MAX(quarantine_ms, {now} + ?2)`, `{now} + ?2`, onTheClock + "a clock that steps back cuts no quarantine short"},
	{"a second loss does not prolong the quarantine", statements, `MAX(quarantine_ms, {now} + ?2)`, `MAX(quarantine_ms, (quarantine_ms = 0) * ({now} + ?2))`, onTheClock + "a second loss prolongs the quarantine"},
	{"what is missing is not made anew", "dbseq/look.go", `_, err = c.exec(ctx, k.q.fill, a)`, ``, onTheClock + "the loss of a slot is seen by acquire"},
	{"what is there is made anew as well", statements, "WHERE true\nON CONFLICT DO NOTHING", "WHERE true\nON CONFLICT DO UPDATE SET owner = '', expires_ms = 0, hwm_ms = 0", onTheClock + "the loss of one record leaves the others"},
	{"no re-take", "dbseq/renew.go", `case r.quarantine.Int64 < r.now ||`, `case true ||`, onTheClock + "after a wipe live holders re-take their worker ids"},
	{"a re-take without looking at the ceiling", statements, `?6 > {now} + ?11`, `?6 > 0 * ?11`, "TestRetakeChecksAllAgain/the ceiling passes"},
	{"a holder whose ceiling has passed goes on asking", "dbseq/renew.go", ` || g.Ceiling <= r.now+ms(g.Skew)`, ``, onTheClock + "a worker id is re-taken before the skew of its ceiling"},
	{"a re-take without the margin of the skew", "dbseq/renew.go", `g.Ceiling <= r.now+ms(g.Skew)`, `g.Ceiling <= r.now`, onTheClock + "a worker id is re-taken before the skew of its ceiling"},
	{"a re-take outside of a quarantine", statements, ` AND quarantine_ms >= {now} AND`, ` AND`, "TestRetakeChecksAllAgain/the quarantine ends"},
	{"a clock that steps back revives a ceiling that had passed", "dbseq/renew.go", `g.Ceiling <= r.quarantine.Int64-ms(g.MaxTTL) ||`, ``, onTheClock + "a ceiling that had passed when a quarantine began takes nothing back when the clock steps back"},
	{"a clock that steps back revives a quarantine that is over", "dbseq/renew.go", ` || (r.owner == "" || r.expires < r.now) && r.mark > r.quarantine.Int64`, ``, onTheClock + "what was lent after a quarantine is not taken back when the clock steps back"},
	{"re-taken though it was lent after the quarantine", "dbseq/renew.go", ` || (r.owner == "" || r.expires < r.now) && r.mark > r.quarantine.Int64`, ``, onTheClock + "what was lent after a quarantine is not taken back when the clock steps back"},
	{"re-taken though it was re-taken meanwhile", statements, `ver = ?10 AND expires_ms < {now}`, `1 = 1`, "TestRetakeChecksAllAgain/another re-takes it"},
	{"a stale record makes its successor lose", "dbseq/renew.go", "case r.expires >= r.now:\n\t\t\treturn g, k.quarantined(r.now, r.quarantine.Int64, v.reason)", "case r.expires >= r.now:\n\t\t\treturn g, lease.ErrLost", onTheClock + "after a failover a stale record that runs is waited for"},
	{"a re-take keeps the token", statements, `token = MAX(token, ?3, {now}) + 1`, `token = ?3`, onTheClock + "after a wipe live holders re-take their worker ids"},
	{"a re-take whose reply is lost locks its holder out", "dbseq/renew.go", `r.token > g.Token && r.floor == g.Floor`, `false`, onTheClock + "after a wipe live holders re-take their worker ids"},
	{"a later borrow of the same owner counts as a re-take", "dbseq/renew.go", ` && r.floor == g.Floor`, ``, onTheClock + "a late copy of a borrow is no re-take"},
	{"a re-take has a new floor", statements, `since_ms = ?4, floor_ms = ?5`, `since_ms = ?4, floor_ms = ?5 + 1`, onTheClock + "after a wipe live holders re-take their worker ids"},
	{"a retired namespace lends on", "dbseq/sql/operator_sqlite.sql", `SET pin = ?1 WHERE`, `SET reason = ?1 WHERE`, "TestOperator/sqlite/operator/a retired namespace lends nothing and says why"},
	{"a re-take forgets the holder's ceiling", statements, `MAX(hwm_ms, ?6, {now} + ?7)`, `MAX(hwm_ms, 0 * ?6, {now} + ?7)`, onTheClock + "after a wipe live holders re-take their worker ids"},
}}

var sqlLoader = mutant{file: "dbseq/statement.go", rule: `return string(text)`, instead: `return mutated(string(text))[0]`}
