package sqlconn

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/internal/findings"
)

var mysql = dialect{
	name:    "mysql", // also MariaDB
	clock:   `TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000`,
	quote:   "`",
	commits: true,
	// A replica of MariaDB runs a statement again with the server_id of the primary.
	repeats: "@@server_id <> @@global.server_id",
	numbers: hexadecimal(),
	gaps:    true,
	write: func(text string) string {
		text = strings.ReplaceAll(text, "''", "SPACE(0)") // with sql_mode EMPTY_STRING_IS_NULL, '' is NULL
		text, _, _ = strings.Cut(strings.ReplaceAll(text, "REPLY(", "LAST_INSERT_ID("), "\nRETURNING ")
		if whole, ok := strings.CutSuffix(text, "\nON CONFLICT DO NOTHING"); ok {
			return strings.Replace(whole, "INSERT INTO", "INSERT IGNORE INTO", 1)
		}
		return text
	},
	session: func(dsn string, _ driver.Driver) (set, setup string) {
		// Without the first setting, each renewal would spend most of its time on reading the start of
		// a MariaDB, which cannot change during a session. MySQL takes /*M! ... */ for a comment. With
		// another completion_type, the first COMMIT may begin a transaction that never ends. After the
		// client has given up, the server continues to wait for a lock, 50 s or a year by default, in
		// which a fleet would use up its connections. A sql_select_limit would truncate lists, and
		// DEFAULT is the server's value.
		return mysqlDSN(dsn), "SET @snowlease_start = COALESCE(NULL /*M!, " + startOf("information_schema") + " */), completion_type = 0, innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, sql_select_limit = 18446744073709551615"
	},
	variant: (*Conn).variantOf,
	place: func(dsn string) string {
		if m := mysqlName.FindStringSubmatch(dsn); m != nil {
			return m[1] + "/" + m[2]
		}
		return ""
	},
	examine:   (*examination).mysql,
	crashSafe: "ENGINE=InnoDB",
	codes: codes{
		// Deadlock, lock wait timeout, record has changed since last read; rolled back by group
		// replication, and failed to commit, which group replication also reports for a deadlock.
		transient:  []string{"1213", "1205", "1020", "3101", "1180"},
		readOnly:   []string{"1290", "1792", "1836", "1015", "1036"}, // the last two with innodb_read_only
		denied:     []string{"1044", "1142", "1143", "1227"},
		noTable:    []string{"1146"},
		usedUp:     []string{"167", "1062", "1264", "1467"},
		unreadable: []string{"1109", "1146", "1193", "1370", "1044", "1142", "1143", "1227"}, // unknown table, unknown variable, routine denied
		login:      []string{"1045", "1698"},                                                 // 1698: MariaDB, for an account without a password
		noDatabase: []string{"1049"},
	},
}

var mysqlName = regexp.MustCompile(`^(?:.*@)?(?:tcp|unix)?\(([\w.:\[\]/-]+)\)/([\w$-]*)(?:\?[^@]*)?$`)

// The incarnation of a server. Host name and port distinguish it from its clone, which has the
// same server_uuid. server_uid depends on a network interface and the port. Recount fills in
// {demotions}. The start time is the beginning of the statement minus the uptime, in whole seconds,
// which clock steps do not change. The cast is for a negative uptime, which is shown as an unsigned
// number. Session status avoids the sum over all connections that global status computes.
var (
	incarnationMySQL   = `CONCAT(@@server_uuid, '/', @@hostname, ':', @@port, '{demotions}/', ` + startOf("performance_schema") + `)`
	incarnationMariaDB = `CONCAT(@@global.server_id, '/', @@hostname, ':', @@port, '{demotions}/', ` +
		`CAST(COALESCE(@snowlease_start, ` + startOf("information_schema") + `) AS SIGNED))`
)

func startOf(schema string) string {
	return `(SELECT UNIX_TIMESTAMP() - CAST(variable_value AS SIGNED) FROM ` + schema + `.session_status WHERE variable_name = 'Uptime')`
}

// hexadecimal composes numbers of five hexadecimal digits, as many as the pool needs, because
// MySQL 5.7 has no recursive queries.
func hexadecimal() string {
	digits := "(SELECT 0 AS d"
	for d := 1; d < 16; d++ {
		digits += fmt.Sprintf(" UNION ALL SELECT %d", d)
	}
	digits += ")"
	sum, from := "d0.d", digits+" AS d0"
	for place, unit := 1, 16; place < 5; place, unit = place+1, 16*unit {
		sum += fmt.Sprintf(" + %d * d%d.d", unit, place)
		from += fmt.Sprintf(" JOIN %s AS d%d ON %d * d%[2]d.d < :pool", digits, place, unit)
	}
	return "SELECT " + sum + " AS n FROM " + from
}

// variantOf returns the incarnation expression for MySQL or MariaDB, depending on the server's
// variables.
func (c *Conn) variantOf(has map[string]string) (string, error) {
	switch {
	case cmp.Or(has["transaction_isolation"], has["tx_isolation"]) == "": // the last variable that every server has
		return "", Advise(errors.New("the server does not show all of its settings: use a pool without sql_select_limit in its DSN, and set it for no account"))
	case has["server_uuid"] != "" && has["binlog_format"] == "STATEMENT" && c.Compares():
		// A replica that runs the statement again records its own server_uuid, and a promotion that
		// loses grants would be undetected. MariaDB replicates the primary's server_id.
		return "", Advise(errors.New("binlog_format is STATEMENT, so a replica would record itself as the lender: set it to ROW or MIXED, or durable: true (dbseq.WithDurable) if the database loses no acknowledged write"))
	case has["server_uuid"] != "":
		return incarnationMySQL, nil
	case has["server_uid"] != "": // newer versions
		return strings.Replace(incarnationMariaDB, "@@global.server_id", "@@global.server_id, '/', @@server_uid", 1), nil
	}
	return incarnationMariaDB, nil
}

// mysqlDSN returns dsn with the settings that the statements need: autocommit, UTF-8 (the
// driver's default), interpolated parameters, which save a round trip for each statement, and no
// access of the server to files.
func mysqlDSN(dsn string) string {
	slash := strings.LastIndexByte(dsn, '/')
	if slash < 0 {
		return dsn // the driver will report the error
	}
	head, query, _ := strings.Cut(dsn[slash:], "?")
	head = dsn[:slash] + head
	params := []string{"autocommit=1", "interpolateParams=true"}
	for _, p := range strings.Split(query, "&") {
		key, _, _ := strings.Cut(p, "=")
		if !slices.Contains([]string{"", "autocommit", "charset", "collation", "allowAllFiles"}, key) {
			params = append(params, p) // after interpolateParams, which the DSN may turn off
		}
	}
	return head + "?" + strings.Join(params, "&")
}

func (x *examination) mysql(ctx context.Context, has map[string]string) {
	x.OK("time zone", has["time_zone"]+"; leases use UTC")
	x.settings(has, mysqlSettings)
	if has["log_bin"] == "ON" {
		// At recovery, the binary log then decides which transactions were committed.
		x.Judge(has["sync_binlog"] != "1", "durability", "sync_binlog is "+has["sync_binlog"], durable+"set it to 1")
		x.semiSync(ctx, has)
	}
	x.cluster(has)
}

func (x *examination) cluster(has map[string]string) {
	if mode, consistency := has["group_replication_single_primary_mode"], has["group_replication_consistency"]; mode != "" {
		x.Table("cluster", "the server is a member of a replication group, group_replication_single_primary_mode is "+mode+", group_replication_consistency is "+consistency,
			findings.Note(x.Compares(), "use the address of the primary, or of one member at a time: each change of the member starts a quarantine, which never ends if several members answer in turn"),
			findings.Fault(mode != "ON", "members see one another's writes late: set durable: false, and use the address of one member at a time"),
			findings.Fault(consistency == "EVENTUAL", "after a failover, a primary takes writes before it has all that was acknowledged: set it to BEFORE_ON_PRIMARY_FAILOVER, or set durable: false"),
			findings.Note(true, "a majority of members that fails at once loses writes that it has acknowledged: set durable: false if that can happen"))
	}
	if has["wsrep_on"] != "ON" {
		return
	}
	for _, option := range []string{"pc.ignore_sb = true", "pc.ignore_quorum = true"} {
		if strings.Contains(has["wsrep_provider_options"], option) {
			x.Fault("cluster", option, "nodes that do not see each other lend the same worker ids: leave it out of wsrep_provider_options")
		}
	}
	x.Table("cluster", "the server is a node of a Galera cluster",
		findings.Note(x.Compares(), "use the address of one node at a time: each change of the node starts a quarantine, which never ends if several nodes answer in turn"),
		findings.Fault(true, "a Galera cluster can lose writes that it has acknowledged: set durable: false, and use the address of one node at a time"))
}

const uncommitted = "a repeated borrow could be answered by what is not committed: leave it out of the DSN, or set another for the account"

// mysqlSettings are settings that matter whatever the others are. Each server has some of them.
var mysqlSettings = []setting{
	{"primary", "read_only", "ON 1", useThePrimary},
	{"primary", "super_read_only", "ON 1", useThePrimary},
	{"primary", "innodb_read_only", "ON 1", useThePrimary},
	{"durability", "innodb_flush_log_at_trx_commit", "0 2", durable + "set it to 1"},
	{"durability", "innodb_flush_method", "nosync littlesync", durable + "leave it out"},
	{"isolation", "transaction_isolation", "READ-UNCOMMITTED", uncommitted},
	{"isolation", "tx_isolation", "READ-UNCOMMITTED", uncommitted},
}

// semiSync judges semi-synchronous replication, whose settings have different names on MySQL, on
// MariaDB, and before MySQL 8.0.26.
func (x *examination) semiSync(ctx context.Context, has map[string]string) {
	plugin, alone := "rpl_semi_sync_source", "_wait_no_replica"
	if _, old := has["rpl_semi_sync_master_enabled"]; old || has["server_uuid"] == "" {
		plugin, alone = "rpl_semi_sync_master", "_wait_no_slave"
	}
	if has[plugin+"_enabled"] != "ON" {
		x.replication(ctx, "replicas, semi-synchronous replication is off", "semi-synchronous replication ("+plugin+"_enabled=ON, "+plugin+"_wait_point=AFTER_SYNC)")
		return
	}
	status, _, _ := One(ctx, x.Conn, nil, "semisync", nil, func(s *[2]string) []any { return []any{&s[0], &s[1]} })
	point, timeout := has[plugin+"_wait_point"], has[plugin+"_timeout"]
	ms, err := strconv.ParseUint(timeout, 10, 64)
	for _, setting := range []struct {
		late         bool
		seen, advice string
	}{
		{point != "AFTER_SYNC", "_wait_point is " + point + ": others see a grant before a replica has it", plugin + "_wait_point=AFTER_SYNC"},
		{has[plugin+alone] == "OFF", alone + " is OFF: without replicas, the server continues without them", plugin + alone + "=ON"},
		{status[1] == "OFF", "_status is OFF: the server does not wait for them", "semi-synchronous replication on them too"},
		{err != nil || ms < week, "_timeout is " + timeout + " ms: without replicas for so long, the server continues without them", "a " + plugin + "_timeout of a year"},
	} {
		if setting.late {
			x.replication(ctx, "replicas, "+plugin+setting.seen, setting.advice)
		}
	}
	x.waits(ctx, cmp.Or(has["rpl_semi_sync_source_wait_for_replica_count"], has["rpl_semi_sync_master_wait_for_slave_count"])) // MariaDB has none
}

// week is how many milliseconds a server should wait for its replicas at least.
const week = 7 * 24 * 3600 * 1000
