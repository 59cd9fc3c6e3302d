package dbseq

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"strings"
)

var mysql = dialect{
	name: MySQL,
	// NULL if autocommit is off, so that no condition or value can be computed from it.
	clock: `IF(@@autocommit, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000, NULL)`,
	same: func(i string) string {
		return "incarnation = " + i + " AND CHAR_LENGTH(incarnation) = CHAR_LENGTH(" + i + ")"
	}, // = ignores spaces at the end
	numbers: hexadecimal(),
	write: func(text string) string {
		text = strings.ReplaceAll(text, "REPLY(", "LAST_INSERT_ID(")
		if whole, ok := strings.CutSuffix(returning.ReplaceAllString(text, ""), "\nON CONFLICT DO NOTHING"); ok {
			return strings.Replace(whole, "INSERT INTO", "INSERT IGNORE INTO", 1)
		}
		return returning.ReplaceAllString(text, "")
	},
	session: func(dsn string, _ driver.Driver) (set, setup string) {
		// Each renewal would spend most of its time on reading the start of a MariaDB. It
		// cannot change during a session. MySQL takes /*M! ... */ for a remark.
		// With another completion_type, the first COMMIT may begin a transaction that
		// never ends. The server goes on waiting for a lock after the client has given up, 50 s or a
		// year by default, in which a fleet would use up its connections.
		return mysqlDSN(dsn), "SET @snowlease_start = COALESCE(NULL /*M!, " + startOf("information_schema") + " */), completion_type = 0, innodb_lock_wait_timeout = 1, lock_wait_timeout = 1"
	},
	codes: codes{
		// Deadlock, lock wait timeout, record has changed since last read; rolled back by group
		// replication, and failed to commit, which is its deadlock too.
		transient:  []string{"1213", "1205", "1020", "3101", "1180"},
		readOnly:   []string{"1290", "1792", "1836", "1015", "1036"}, // the last ones by innodb_read_only
		denied:     []string{"1044", "1142", "1143", "1227"},
		noTable:    []string{"1146"},
		usedUp:     []string{"167", "1062", "1264", "1467"},
		unreadable: []string{"1109", "1146", "1193", "1370", "1044", "1142", "1143", "1227"}, // unknown table, unknown variable, routine denied
		login:      []string{"1045", "1698"},                                                 // 1698: MariaDB, of an account without a password
		noDatabase: []string{"1049"},
		unnamed:    []string{"1046"}, // the DSN names no database
	},
}

var returning = regexp.MustCompile(`\nRETURNING .*$`)

// The incarnation of a server: host name and port tell it from its clone, which has the same
// server_uuid. The start time is the time at which the statement began, less the uptime: whole
// seconds, which clock steps do not change. The cast is for a negative uptime, which is shown as
// an unsigned number. Session status avoids the sum over all connections that global status takes.
var (
	incarnationMySQL   = `CONCAT(@@server_uuid, '/', @@hostname, ':', @@port, '/', ` + startOf("performance_schema") + `)`
	incarnationMariaDB = `CONCAT(@@server_id, '/', @@hostname, ':', @@port, '/', ` +
		`CAST(COALESCE(@snowlease_start, ` + startOf("information_schema") + `) AS SIGNED))`
)

func startOf(schema string) string {
	return `(SELECT UNIX_TIMESTAMP() - CAST(variable_value AS SIGNED) FROM ` + schema + `.session_status WHERE variable_name = 'Uptime')`
}

// hexadecimal composes numbers of five hexadecimal digits, as far as the pool needs them: MySQL
// 5.7 has no recursive queries.
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
