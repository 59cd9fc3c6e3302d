package mutation_test

const (
	statements = "dbseq/sql/lease.sql"
	onTheClock = "TestContractByAClock/lease/"
	between    = "TestBetweenStatements/"
)

// onSQL are the statements of dbseq on SQLite, by a clock that the tests move, and what
// it decides between them. A condition that only another one makes superfluous is left
// out.
var onSQL = list{title: "sql", pkg: "dbseq", loaders: []mutant{sqlLoader}, mutants: []mutant{
	// What is damaged.
	{"a record of a worker id is taken as it is read", "dbseq/store.go", `err = cmp.Or(err, r.Check(r.worker), rules`, `err = cmp.Or(err, rules`, "TestContract/sqlite/lease/a damaged record is named and lends nothing twice"},
	{"a record of the namespace is taken as it is read", "dbseq/store.go", `err = l.Check()`, `err = nil`, "TestContract/sqlite/lease/a damaged record is named and lends nothing twice"},
	{"rows beyond the pool count", statements + "#look", `slot >= 0 AND slot < :pool) AS s`, `slot > -9 + 0 * :pool) AS s`, "TestSlotsBeyondThePool/sqlite"},
	// What is committed.
	{"commits nothing where autocommit is off", "internal/sqlconn/run.go", `if c.Own || !c.dialect.commits {`, `if true {`, "TestSharedPoolWithoutAutocommit/mariadb"},
	{"a call that was given up goes on waiting for a lock", "internal/sqlconn/mysql.go", `, innodb_lock_wait_timeout = 1`, ``, "TestLockOfAnother/mariadb"},
	{"a call that was given up goes on waiting for a lock of the table", "internal/sqlconn/mysql.go", `, lock_wait_timeout = 1, sql`, `, sql`, "TestLockOfAnother/mysql"},
	// Where it is committed.
	{"writes where a connection was moved to", "internal/sqlconn/conn.go", `if h == nil {`, `if true {`, "TestMovedConnection/mariadb"},
	{"numbers look for their table when a connection was moved", "dbseq/tables.go", `if !s.Own {`, `if false {`, "TestMovedConnection/mariadb"},
	{"writes where the search_path leads to", "internal/sqlconn/conn.go", `if h == nil {`, `if true {`, "TestMovedConnection/postgres"},
	{"looks for the tables in the first schema alone", "internal/sqlconn/sql/postgres.sql#home", `WHERE pg_class.oid = to_regclass(:table)::oid`, `WHERE pg_class.oid = 0::oid`, "TestMovedLaterSchema/postgres"},
	{"creates tables where no other process looks", "internal/sqlconn/tables.go", `if h := c.home.Load(); h.there {`, `if h := c.home.Load(); false {`, "TestMovedLaterSchema/postgres"},
	{"creates tables where a moved connection leads", "internal/sqlconn/tables.go", `if !c.Own && now.schema != h.schema {`, `if false {`, "TestMovedLaterSchema/postgres"},
	{"starts in the schema of another client of a pooler", "internal/sqlconn/sql/postgres.sql#home", `WHEN :own = 1 THEN`, `WHEN :own < 0 THEN`, "TestSearchPathOfAnotherClient"},
	{"takes numbers where the transaction is before a first look", segmentsGo, `case !s.conn.Answered():`, `case false:`, "TestMovedInATransaction/postgres"},
	{"each connection has a database in memory", "internal/sqlconn/sqlite.go", `MaxOpenConnections != 1:`, `MaxOpenConnections < 0:`, "TestPoolOfSQLiteInMemory"},
	{"a limit of the server cuts lists", "internal/sqlconn/mysql.go", `, sql_select_limit = 18446744073709551615`, ``, "TestSelectLimit/mariadb"},
	{"settings that a limit has cut", "internal/sqlconn/mysql.go", `case cmp.Or(has["transaction_isolation"], has["tx_isolation"]) == "":`, `case false:`, "TestSelectLimit/mariadb"},
	{"slots that a limit has cut", statements + "#slots", ` LIMIT :pool`, ``, "TestSelectLimit/mariadb"},
	// What is opened.
	{"a relative path of the folder that is current later", "internal/sqlconn/sqlite.go", `return sqlitedsn.Absolute(dsn), setup`, `_ = sqlitedsn.Absolute; return dsn, setup`, "TestChangedDirectory"},
	{"a file whose name ends with a line break", "internal/dsn/dsn.go", `if unicode.IsControl(r) || `, `if `, "TestOpenRefuses"},
	{"empty texts that MariaDB takes for NULL", "internal/sqlconn/mysql.go", `strings.ReplaceAll(text, "''", "SPACE(0)")`, `strings.Clone(text)`, "TestSQLModes/mariadb"},
	{"no path is looked at", "internal/sqlconn/server.go", `if c.dialect.check != nil {`, `if false {`, "TestPoolOfSQLiteInMemory"},
	// What is lent.
	{"free though its mark is ahead", statements, "hwm_ms < {now} + :lead\n ORDER", ":lead >= 0\n ORDER", onTheClock + "a worker id that was given back is not lent while its mark is ahead"},
	{"lends what was read, whatever was lent meanwhile", statements + "#put", `ver = :ver AND token = :wastoken AND expires_ms = :wasexpires AND hwm_ms = :wasmark`, `:ver + :wastoken + :wasexpires + :wasmark >= 0`, between + "a loan/sqlite"},
	{"lends what was lent and given back meanwhile", statements + "#put", `ver = :ver AND token = :wastoken AND expires_ms = :wasexpires AND hwm_ms = :wasmark`, `:ver + :wastoken + :wasexpires + :wasmark >= 0`, between + "a loan that is given back/sqlite"},
	{"lends what was used ahead meanwhile", statements + "#put", `ver = :ver AND token = :wastoken AND expires_ms = :wasexpires AND hwm_ms = :wasmark`, `:ver + :wastoken + :wasexpires + :wasmark >= 0`, between + "a loan that is given back, used ahead/sqlite"},
	{"lends what another program has lent meanwhile", statements + "#put", ` AND expires_ms = :wasexpires AND`, ` AND :wasexpires >= 0 AND`, between + "a lease of another program/sqlite"},
	{"lends below a mark that another program has raised meanwhile", statements + "#put", ` AND hwm_ms = :wasmark`, ` AND :wasmark >= 0`, between + "a mark of another program/sqlite"},
	{"lends by a version that another loan has changed", statements + "#put", ` AND ver = :ver AND token = :wastoken AND`, ` AND :ver + :wastoken >= 0 AND`, between + "a loan that is given back/sqlite"},
	{"lends below a quarantine that was prolonged meanwhile", statements + "#put", `AND quarantine_ms = :quarantine)`, `AND :quarantine >= 0)`, between + "a quarantine begins before a borrow/sqlite"},
	{"lends on a server that is another meanwhile", statements + "#put", ` AND {answered}`, ` AND COALESCE(:server, '') >= ''`, between + "another server answers a borrow/sqlite"},
	{"lends among members of another layout", statements + "#put", ` AND pin = :newpin`, ` AND :newpin <> ''`, between + "members of another layout borrow/sqlite"},
	{"lends by a clock that has stepped ahead", statements + "#put", `AND {now} BETWEEN :lo AND :hi`, `AND {now} >= :lo + 0 * :hi`, between + "a clock steps ahead before a borrow/sqlite"},
	{"lends by a clock that has stepped back", statements + "#put", `AND {now} BETWEEN :lo AND :hi`, `AND {now} <= :hi + 0 * :lo`, between + "a clock steps back before a borrow/sqlite"},
	{"an owner that asks again after its end waits forever", "dbseq/store.go", `case slot.Since != was.Since:`, `case slot.Owner != was.Owner:`, between + "a lease has ended before its owner asks again/sqlite"},
	{"lends anew what expires meanwhile", "dbseq/store.go", `last = was.Expires - 1`, `last = slot.Expires`, between + "a lease ends before another range is lent/sqlite"},
	{"the ceiling is not stored", statements + "#put", `, hwm_ms = :mark`, `, hwm_ms = hwm_ms + 0 * :mark`, onTheClock + "asked again, the same owner gets the same grant"},
	{"the expiry is not stored", statements + "#put", `, expires_ms = :expires,`, `, expires_ms = expires_ms + 0 * :expires,`, onTheClock + "a renewal raises the ceiling"},
	{"the token is not stored", statements + "#put", `token = :token,`, `token = token + 0 * :token,`, onTheClock + "a renewal raises the ceiling"},
	{"the floor is not stored", statements + "#put", `floor_ms = :floor,`, `floor_ms = floor_ms + 0 * :floor,`, onTheClock + "asked again, the same owner gets the same grant"},
	{"soonest by the expiry alone", statements + "#look", `MIN(CASE WHEN slot BETWEEN :first AND :last THEN GREATEST(expires_ms, hwm_ms) END)`, `MIN(CASE WHEN slot BETWEEN :first AND :last THEN expires_ms END)`, onTheClock + "a full pool says when the first worker id is free"},
	{"soonest of the whole pool", statements + "#look", `MIN(CASE WHEN slot BETWEEN :first AND :last THEN GREATEST(expires_ms, hwm_ms) END)`, `MIN(GREATEST(expires_ms, hwm_ms))`, onTheClock + "requests get worker ids of their range only"},
	{"soonest a millisecond early", "dbseq/store.go", `l.soonest+1, rules`, `l.soonest, rules`, onTheClock + "a full pool says when the first worker id is free"},
	{"soonest without the lead", "dbseq/store.go", `l.soonest = l.ahead`, ``, onTheClock + "a range ahead of the clock is lent from its first millisecond on"},
	{"lends from the whole pool", statements + "#free", `WHERE ns = :ns AND slot BETWEEN :first AND :last AND`, `WHERE ns = :ns AND :first <= :last AND`, onTheClock + "requests get worker ids of their range only"},
	{"a constant in place of the ticket", "dbseq/store.go", `want.Request.First + k.ticket%(`, `want.Request.First + 0*k.ticket%(`, "TestTicketChoosesTheWorkerID/sqlite"},
	{"a ticket falls on worker ids outside of the range", "dbseq/store.go", `at = want.Request.First + k.ticket%(`, `at = k.ticket%(`, "TestTicketChoosesTheWorkerID/sqlite"},
	{"the free slot of the ticket does not come first", statements + "#free", `CASE WHEN slot = :slot`, `CASE WHEN slot < :slot`, "TestTicketChoosesTheWorkerID/sqlite"},
	{"a retried acquire takes another slot", "dbseq/store.go", `if want.Borrow {`, `if false {`, onTheClock + "asked again, the same owner gets the same grant"},
	{"a retried acquire gets what has expired", statements + "#look", `AND expires_ms >= {now} + :skew OR`, `AND :skew >= 0 OR`, onTheClock + "a grant is repeated until the skew before its end"},
	{"a retried acquire without the margin of the skew", statements + "#look", `AND expires_ms >= {now} + :skew OR`, `AND expires_ms >= {now} + 0 * :skew OR`, onTheClock + "a grant is repeated until the skew before its end"},
	// Who may ask.
	{"a renewal does not go on with a change", "dbseq/store.go", ` || pin.Change != (lease.PinChange{}) || !s.ready`, ` || !s.ready`, onTheClock + "a member with greater times stops nobody and is lent them when a loss allows for them"},
	{"slots do not show a raise", "dbseq/sql/lease.sql#carry", `(hold_ms <> :kept OR used_ms <> :inuse)`, `hold_ms < 0`, onTheClock + "a raise outlives the records of its member and of the namespace"},
	{"the end of a raise is decided on another server", statements + "#meta", ` AND {answered}`, ` AND COALESCE(:server, '') >= ''`, between + "another server, to which the slots that show a raise have not come/sqlite"},
	{"the end of a raise is decided long after it was seen", "dbseq/store.go", `a["hi"] = now + pinTime`, ``, between + "a pause before the end of a raise is decided/sqlite"},
	{"a smaller pool sees nothing on record", "dbseq/store.go", `if joins && !l.there {`, `if false {`, onTheClock + "the loss of the record of the namespace lets in no other layout or pool"},
	{"a record is created although others retired the namespace", statements + "#open", `s.shape = COALESCE(:seen, '')`, `(s.shape = COALESCE(:seen, '') OR 1 = 1)`, between + "the namespace is retired before its record is created"},
	{"slots show no retirement", "dbseq/store.go", `case is.Pin.Retired && !was.Pin.Retired:`, `case false:`, "TestOperator/sqlite/operator/a retired namespace lends nothing and says why"},
	{"slots show no layout", statements + "#fill", `:kept, :inuse, :shape`, `:kept, :inuse, NULL`, onTheClock + "the loss of the record of the namespace lets in no other layout or pool"},
	{"one slot that shows a raise stands for all", statements + "#look", `COALESCE(MIN(hold_ms), 0) AS least`, `COALESCE(MAX(hold_ms), 0) AS least`, onTheClock + "a raise outlives the records of its member and of the namespace"},
	{"what slots show counts for nothing", statements + "#look", `COALESCE(MAX(hold_ms), 0) AS greatest`, `0 AS greatest`, onTheClock + "a raise outlives the records of its member and of the namespace"},
	// Who holds.
	{"renews what expires meanwhile", statements + "#renew", "AND expires_ms >= {now} + :skew\n", "AND :skew >= 0\n", onTheClock + "an expired grant is lost for good"},
	{"renews what is about to expire", statements + "#renew", "AND expires_ms >= {now} + :skew\n", "AND expires_ms >= {now} + 0 * :skew\n", onTheClock + "a grant that is about to expire is lost"},
	{"a store that lost a renewal does not learn it", statements + "#renew", `GREATEST(hwm_ms, :ceiling, {now} + :ttl, LEAST(floor_ms + :ttl, {now} + :maxttl))`, `GREATEST(hwm_ms, 0 * :ceiling, {now} + :ttl, LEAST(floor_ms + :ttl, {now} + :maxttl))`, onTheClock + "a holder restores a renewal that the store lost"},
	{"a renewal lowers the mark", statements + "#renew", `GREATEST(hwm_ms, :ceiling, {now} + :ttl, LEAST(floor_ms + :ttl, {now} + :maxttl))`, `GREATEST(0 * :ceiling, {now} + :ttl, LEAST(floor_ms + :ttl, {now} + :maxttl))`, onTheClock + "a renewal lowers neither the mark nor the expiry"},
	{"a renewal's ceiling is not stored", statements + "#renew", `GREATEST(hwm_ms, :ceiling, {now} + :ttl, LEAST(floor_ms + :ttl, {now} + :maxttl))`, `GREATEST(hwm_ms, 0 * :ceiling * :maxttl)`, onTheClock + "a renewal raises the ceiling"},
	{"a renewal's ceiling later than MaxTTL above the clock is stored", statements + "#renew", `GREATEST(hwm_ms, :ceiling, {now} + :ttl, LEAST(floor_ms + :ttl, {now} + :maxttl))`, `GREATEST(hwm_ms, :ceiling, {now} + :ttl, LEAST(floor_ms + :ttl, {now} + 2 * :maxttl))`, between + "a range ahead of the clock is renewed twice in a millisecond/sqlite"},
	{"a renewal raises no ceiling", "dbseq/store.go", `g.Pinned, g.Now, g.Ceiling = pin, now, rules.Slot{Floor: g.Floor}.Extended(now, by).Mark`, `g.Now = now`, onTheClock + "a renewal raises the ceiling"},
	{"a renewal lowers the expiry", statements + "#renew", "expires_ms = GREATEST(expires_ms, {now} + :ttl),\n       hwm_ms", "expires_ms = {now} + :ttl,\n       hwm_ms", onTheClock + "a renewal lowers neither the mark nor the expiry"},
	{"given back, but its owner is lent another", statements + "#look", ` OR owner = :spent THEN`, ` AND :spent <> '' THEN`, onTheClock + "a borrow that arrives after its grant was given back lends nothing"},
	{"asked again, answered by what was read", "dbseq/store.go", `&& after.Equal(before.Namespace)`, `&& false`, "TestBorrowThatNoStandbyHas"},
	{"asked again, answered below a quarantine", "internal/rules/verbs.go", `again && g.Floor < ns.Meta.Quarantine {`, `false {`, "TestStatementsPerVerb/sqlite"},
	// What is lost.
	{"the loss of a slot is not seen", "dbseq/store.go", `Leases: l.known, Marks: l.known,`, `Leases: max(l.known, min(r.Pool, l.known*r.Pool)), Marks: max(l.known, min(r.Pool, l.known*r.Pool)),`, onTheClock + "the loss of a slot is seen by acquire"},
	{"another incarnation is seen, not noted", statements + "#meta", `SET pin = :newpin, incarnation = COALESCE(:incarnation, '')`, `SET pin = :newpin, incarnation = COALESCE(:recorded, '')`, onTheClock + "another incarnation is seen by every verb"},
	{"an incarnation that flips is not named", statements + "#meta", `former = COALESCE(:former, '')`, `former = ''`, onTheClock + "the error names an incarnation that flips"},
	{"MariaDB: a COMMIT that begins another transaction", "internal/sqlconn/mysql.go", `, completion_type = 0, `, `, `, "TestSettingsOfOpen/mariadb"},
	{"MariaDB: a restart is not seen", "internal/sqlconn/mysql.go", "`CAST(COALESCE(@snowlease_start, ` + startOf(\"information_schema\") + `) AS SIGNED))`", "`1)`", "TestFailoverThereAndBack/mariadb"},
	{"MariaDB: a restart is not seen in a new session", "internal/sqlconn/mysql.go", "\" + startOf(\"information_schema\") + \"", "1", "TestFailoverThereAndBack/mariadb"},
	{"MariaDB: an uptime below zero is read as a great one", "internal/sqlconn/mysql.go", `CAST(variable_value AS SIGNED)`, `variable_value`, "TestIncarnationWhateverTheClock/mariadb"},
	{"MariaDB: two servers of one server_id are one", "internal/sqlconn/mysql.go", `@@server_id, '/', @@hostname, ':', @@port, '/',`, `@@server_id, '/',`, "TestIncarnationOfAClone/mariadb"},
	{"MySQL: a restart is not seen", "internal/sqlconn/mysql.go", "@@port, '/', ` + startOf(\"performance_schema\") + `)`", "@@port, '/')`", "TestServerThatComesBackWithOlderData/mysql"},
	{"MySQL: a clone with the same server_uuid is not seen", "internal/sqlconn/mysql.go", `@@server_uuid, '/', @@hostname, ':', @@port, '/',`, `@@server_uuid, '/',`, "TestIncarnationOfAClone/mysql"},
	{"PostgreSQL: a clock that moves within a statement", "internal/sqlconn/postgres.go", `statement_timestamp()`, `clock_timestamp()`, "TestClockOfAStatement/postgres"},
	{"PostgreSQL: a restart is not seen", "internal/sqlconn/postgres.go", `to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS.US')`, `'-'`, "TestServerThatComesBackWithOlderData/postgres"},
	{"PostgreSQL: a crash under a parent that lives is not seen", "internal/sqlconn/postgres.go", `COALESCE(pg_last_wal_replay_lsn()::text, '-')`, `'-'`, "TestPostgresLosesItsLastCommits"},
	{"a replica that lags shows a loss", statements + "#meta", `AND (:known = :pool OR`, `AND (:known <= :pool OR`, between + "more is lost/sqlite"},
	{"a second loss cuts the quarantine short", statements + "#meta", `GREATEST(:until, REPLY({now}) + :hold)`, `0 * :until + REPLY({now}) + :hold`, onTheClock + "a clock step back does not shorten a quarantine"},
	{"a second loss does not prolong the quarantine", statements, `WHEN :hold > 0 THEN GREATEST(:until, REPLY({now}) + :hold) ELSE :until END` + and + `GREATEST(quarantine_ms, REPLY({now}) + :hold)`, `WHEN :hold > 0 AND quarantine_ms = 0 THEN GREATEST(:until, REPLY({now}) + :hold) ELSE quarantine_ms END` + and + `GREATEST(quarantine_ms, 0 * (REPLY({now}) + :hold))`, onTheClock + "a second loss prolongs the quarantine"},
	{"slots show all as used", statements, `AS least, COALESCE(MAX(used_ms), 0) AS inuse` + and + `AS greatest, COALESCE(MAX(used_ms), 0) AS inuse`, `AS least, COALESCE(MAX(hold_ms), 0) AS inuse` + and + `AS greatest, COALESCE(MAX(hold_ms), 0) AS inuse`, onTheClock + "what the namespace allows for falls when nobody needs it"},
	{"a quarantine counts from the look", statements + "#meta", `GREATEST(:until, REPLY({now}) + :hold)`, `:until + 0 * REPLY({now})`, between + "a caller pauses before it records another server/sqlite"},
	{"what is missing is made anew as if never lent", statements + "#fill", `CASE WHEN :hold > 0 THEN {now} + :hold ELSE 0 END`, `0 * :hold`, between + "a caller pauses before it records a loss/sqlite"},
	{"the quarantine ends before the marks of what is made anew", statements + "#raise", `GREATEST(quarantine_ms, REPLY({now}) + :hold)`, `quarantine_ms + 0 * (REPLY({now}) + :hold)`, between + "a caller pauses before it records a loss/sqlite"},
	{"another server writes what one has shown", statements + "#meta", ` AND {answered}`, ` AND COALESCE(:server, '') >= ''`, between + "a third server answers/sqlite"},
	{"a slot that is given back shows what an earlier pin allows for", statements + "#put", `AND hold_ms = :washold AND used_ms = :wasused`, `AND :washold + :wasused >= 0`, between + "a raise is shown by a slot that is given back/sqlite"},
	{"a record is created by what slots showed before", statements + "#open", `s.greatest = :greatest`, `s.greatest >= 0 * :greatest`, between + "a raise is shown by slots before the record of the namespace is created/sqlite"},
	{"a record is created by what slots showed as used before", statements + "#open", `s.inuse = :shown`, `s.inuse >= 0 * :shown`, between + "slots show less as used before the record of the namespace is created/sqlite"},
	{"a record is created by how many slots there were", statements + "#open", `s.known = :known AND`, `s.known >= 0 * :known AND`, between + "a slot is lost before the record of the namespace is created/sqlite"},
	{"an empty namespace lends at once", statements + "#open", `CASE WHEN :hold > 0 THEN REPLY({now}) + :hold ELSE 0 END`, `0 * :hold`, onTheClock + "the loss of the record of the namespace is seen by acquire"},
	{"who begins a quarantine is answered by its look", "internal/engine/store.go", `q.Until = q.Until.Add(`, `_ = q.Until.Add(`, between + "the answer says when the quarantine ends/sqlite"},
	{"MariaDB: a replica that runs statements again does nothing", "internal/sqlconn/mysql.go", `@@server_id <> @@global.server_id`, `1 = 0`, "TestPromotion/mariadb/STATEMENT"},
	{"what is missing is not made anew", "dbseq/store.go", `a["pool"] == a["known"] {`, `true {`, onTheClock + "the loss of a slot is seen by acquire"},
	{"Init completes what others have lost", "dbseq/store.go", `if err == nil && n != rows {`, `if err == nil && n != rows && rows == 1 {`, "TestInitBesideAPartialLoss/sqlite"},
	{"extended below a quarantine", statements + "#renew", ` AND quarantine_ms <= :floor)`, ` AND :floor >= 0)`, onTheClock + "a range below a quarantine is never extended"},
	{"extended below a quarantine by a millisecond", statements + "#renew", ` AND quarantine_ms <= :floor)`, ` AND quarantine_ms <= :floor + 1)`, between + "a lease ends before another range is lent/sqlite"},
	{"extended on another server", statements + "#renew", `AND {same} AND quarantine_ms <= :floor)`, `AND quarantine_ms <= :floor)`, onTheClock + "another incarnation is seen by every verb"},
	{"extended among members of another layout", statements + "#renew", `pin = :pin AND {same} AND quarantine_ms <= :floor)`, `:pin <> '' AND {same} AND quarantine_ms <= :floor)`, onTheClock + "a pin of another version refuses every member, and stays"},
	{"extended without the record of the namespace", statements + "#renew", `AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :pin AND {same} AND quarantine_ms <= :floor)`, `AND NOT EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND NOT (pin = :pin AND {same} AND quarantine_ms <= :floor))`, onTheClock + "the loss of the record of the namespace is seen by renew"},
	{"extended for another owner", statements + "#renew", `AND owner = :owner AND token = :token AND floor_ms = :floor AND`, `AND :owner <> '' AND token = :token AND floor_ms = :floor AND`, onTheClock + "renewal and release are fenced by owner and token"},
	{"extended under the token of an earlier grant", statements + "#renew", `AND owner = :owner AND token = :token AND floor_ms = :floor AND`, `AND owner = :owner AND :token >= 0 AND floor_ms = :floor AND`, onTheClock + "renewal and release are fenced by owner and token"},
	{"extended from another floor than the one on record", statements + "#renew", `AND owner = :owner AND token = :token AND floor_ms = :floor AND`, `AND owner = :owner AND token = :token AND :floor >= 0 AND`, between + "a floor that differs from the one of the grant/sqlite"},
	{"a retired namespace lends on", statements + "#meta", `SET pin = :newpin,`, `SET`, "TestOperator/sqlite/operator/a retired namespace lends nothing and says why"},
}}

// onSQLConn is what packages on SQL share, as far as its own tests see it.
var onSQLConn = list{title: "sql connections", pkg: "internal/sqlconn", mutants: []mutant{
	{"a file that is mounted alone", "internal/sqlconn/sqlite.go", `mounted(has["file"], mounts)`, `false`, "TestFileIsAMountPoint"},
}}

var sqlLoader = mutant{file: "internal/sqlconn/statement.go", rule: `append(texts, string(text))`, instead: `append(texts, mutated(string(text))...)`}
