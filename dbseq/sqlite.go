package dbseq

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"strings"
)

var sqlite = dialect{
	name:        SQLite,
	clock:       `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`, // the host's
	incarnation: `'sqlite'`,                                                          // there is only one file
	same:        func(i string) string { return "incarnation = " + i },
	numbers:     `WITH RECURSIVE up (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM up WHERE n + 1 < :pool) SELECT n FROM up`,
	write: func(text string) string {
		return left.ReplaceAllString(strings.NewReplacer("REPLY(", "(", "GREATEST(", "MAX(", "LEAST(", "MIN(").Replace(text), "SUBSTR($1, 1, ")
	},
	parameter: func(n int, _ string) string { return fmt.Sprintf("?%d", n) },
	returning: true,
	session: func(dsn string, _ driver.Driver) (set, setup string) {
		if !strings.Contains(dsn, "busy_timeout") {
			setup = "PRAGMA busy_timeout = 5000"
		}
		return dsn, setup
	},
	codes: codes{
		transient:    []string{"5", "6"}, // busy, locked
		noTable:      []string{"1"},      // there is no code of its own
		usedUp:       []string{"13"},     // full, the code of a full disk too
		readOnly:     []string{"8"},
		readOnlyFile: []string{"8"},
		cannotOpen:   []string{"14"},
	},
}

var left = regexp.MustCompile(`\bLEFT\(([\w.]+), `)

const movedSQLite = int64(1032) // read-only, since the file was moved; noticed only without WAL
