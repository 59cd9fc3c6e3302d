package dbseq

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
)

var postgres = dialect{
	name:  Postgres,
	clock: `(EXTRACT(EPOCH FROM statement_timestamp()) * 1000)::bigint`,
	// A promotion changes the timeline in the names of the WAL files at once, in the control file
	// only later. If one backend crashes, the postmaster restarts the others without changing its
	// start time; then the end of the replayed WAL differs.
	incarnation: `((pg_control_system()).system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/' ||` +
		` to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS.US') || '/' ||` +
		` COALESCE(pg_last_wal_replay_lsn()::text, '-'))`,
	same:      func(i string) string { return "incarnation = " + i },
	numbers:   `SELECT generate_series(0, :pool - 1) AS n`,
	write:     func(text string) string { return strings.ReplaceAll(text, "REPLY(", "(") },
	parameter: func(n int, name string) string { return fmt.Sprintf("$%d::%s", n, typeOf(name)) },
	returning: true,
	session:   func(dsn string, d driver.Driver) (set, setup string) { return postgresDSN(dsn, d), "" },
	codes: codes{
		transient:  []string{"40001", "40P01", "55P03"}, // serialization failure, deadlock, lock not available
		readOnly:   []string{"25006"},
		denied:     []string{"42501"},
		noTable:    []string{"42P01"},
		usedUp:     []string{"23505", "2200H"},
		unreadable: []string{"42883", "42501"}, // unknown function
		login:      []string{"28000", "28P01"}, // 28000: an unknown account, or none that pg_hba.conf admits
		noDatabase: []string{"3D000"},
	},
}

// typeOf returns the type of a parameter, which PostgreSQL infers otherwise from where it stands
// first.
func typeOf(parameter string) string {
	if slices.Contains([]string{"ns", "pin", "oldpin", "newpin", "owner", "holder", "reason", "name", "beside", "table"}, parameter) {
		return "varchar"
	}
	return "bigint"
}
