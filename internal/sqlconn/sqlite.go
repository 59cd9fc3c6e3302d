package sqlconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
	"github.com/snowlease/snowlease/internal/findings"
)

var sqlite = dialect{
	name:        "sqlite",
	file:        true,
	quote:       `"`,
	clock:       `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`, // the host's
	incarnation: `'sqlite'`,                                                          // there is only one file
	numbers:     `WITH RECURSIVE up (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM up WHERE n + 1 < :pool) SELECT n FROM up`,
	write:       strings.NewReplacer("REPLY(", "(", "GREATEST(", "MAX(", "LEAST(", "MIN(").Replace,
	parameter:   func(n int, _ string) string { return "?" + strconv.Itoa(n) },
	returning:   true,
	session: func(dsn string, _ driver.Driver) (set, setup string) {
		if !strings.Contains(dsn, "busy_timeout") {
			setup = "PRAGMA busy_timeout = 5000"
		}
		return sqlitedsn.Absolute(dsn), setup
	},
	check: func(ctx context.Context, c *Conn) error { return c.oneFile(ctx, "/proc/self/mountinfo") },
	place: func(dsn string) string {
		path, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
		return path
	},
	examine: (*examination).sqlite,
	hints: [][2]string{{
		context.DeadlineExceeded.Error(), "on SQLite only one transaction writes at a time: do not call this within a transaction that writes",
	}},
	codes: codes{
		transient:  []string{"5", "6"}, // busy, locked
		noTable:    []string{"1"},      // there is no separate code
		usedUp:     []string{"13"},     // full, the code of a full disk too
		readOnly:   []string{"8"},
		movedFile:  []string{"1032"}, // detected only without WAL
		extended:   true,
		cannotOpen: []string{"14"},
	},
}

// oneFile returns an error if there may be several databases: one in memory for each connection
// of a pool, or a file in WAL mode that is mounted alone into a container. SQLite keeps the WAL and
// its locks next to each path of a file, so processes on two paths do not see each other's changes,
// and centers on them would lease the same worker ids and numbers. Such a file also loses its WAL
// with the container. mounts lists the mount points, in the format of Linux.
func (c *Conn) oneFile(ctx context.Context, mounts string) error {
	has, err := c.settings(ctx)
	switch {
	case err != nil:
		return err
	case has["file"] == "" && c.Pool().Stats().MaxOpenConnections != 1:
		return Advise(errors.New("each connection of the pool may have its own database in memory: put it in a file, or call SetMaxOpenConns(1) on the pool"))
	case has["journal_mode"] == "wal" && mounted(has["file"], mounts):
		return Advise(errors.New("the SQLite file is in WAL mode, where two paths lend the same worker ids, and is a mount point of its own: mount its folder"))
	}
	return nil
}

// mounted reports whether a file, whose links SQLite has resolved, is one of the mount points.
// Without a list of mount points, it returns false.
func mounted(file, mounts string) bool {
	text, err := os.ReadFile(mounts)
	if err != nil {
		return false
	}
	point := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(file)
	return slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
		f := strings.Fields(line)
		return len(f) > 4 && f[4] == point
	})
}

func (x *examination) sqlite(_ context.Context, has map[string]string) {
	x.Judge(has["file"] == "", "file", has["file"], "the database is in memory: other processes do not see it, and a restart loses it; give a path")
	// synchronous is a setting of the connection, and the doctor uses the same DSN.
	level, journal := has["synchronous"], has["journal_mode"]
	name := map[string]string{"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}[level]
	late := level == "1" && journal == "wal"
	broken := level == "0" || journal == "memory" || journal == "off"
	x.Table("durability", "synchronous is "+name+", journal_mode "+journal,
		findings.Fault(broken || late && !x.Compares(), "a crash of the host loses acknowledged grants or the file, and the loss is undetected: set _pragma=synchronous(2) and _pragma=journal_mode(WAL) in the DSN"),
		findings.Note(late, "a power failure can lose the last commits: set _pragma=synchronous(2) in the DSN if power can fail"))
}
