package dbseq

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// SQL expressions of the server's clock in Unix milliseconds, independent of the
// session's time zone. All occurrences in a statement have the same value.
var clocks = map[Dialect]string{
	MySQL:    `IF(@@autocommit, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000, NULL)`,
	Postgres: `(EXTRACT(EPOCH FROM statement_timestamp()) * 1000)::bigint`,
	SQLite:   `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`,
}

// SQL expressions that identify the server process that runs a statement. Acknowledged
// writes can be lost only if another process answers. An expression is NULL if the
// server does not reveal a part of it.
//
// On MySQL, host name and port tell a server from its clone, which has the same
// server_uuid. On MySQL and MariaDB, the start time is the time at which the statement began, less
// the uptime: whole seconds, which clock steps do not change. The cast is for a negative
// uptime, which is shown as an unsigned number. Session status avoids the sum over all
// connections that global status takes.
//
// On PostgreSQL, a promotion changes the timeline in the names of the WAL files at once,
// in the control file only later. If one backend crashes, the postmaster restarts the
// others without changing its start time; then the end of the replayed WAL differs.
var (
	incarnationMySQL   = `CONCAT(@@server_uuid, '/', @@hostname, ':', @@port, '/', ` + startOf("performance_schema") + `)`
	incarnationMariaDB = `CONCAT(@@server_id, '/', @@hostname, ':', @@port, '/', ` +
		`CAST(COALESCE(@snowlease_start, ` + startOf("information_schema") + `) AS SIGNED))`
	incarnationPostgres = `((pg_control_system()).system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/' ||` +
		` to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS.US') || '/' ||` +
		` COALESCE(pg_last_wal_replay_lsn()::text, '-'))`
	incarnationSQLite = `'sqlite'`
)

func startOf(schema string) string {
	return `(SELECT UNIX_TIMESTAMP() - CAST(variable_value AS SIGNED) FROM ` + schema + `.session_status WHERE variable_name = 'Uptime')`
}

// server finds out which kind of server it is, once or again, and loads the statements
// for it.
func (c *conn) server(ctx context.Context, again bool) error {
	if c.known.Load() && (!again || c.dialect != MySQL) {
		return nil
	}
	incarnation := map[Dialect]string{Postgres: incarnationPostgres, SQLite: incarnationSQLite}[c.dialect]
	if c.dialect == MySQL {
		has, err := c.settings(ctx)
		if err != nil {
			return err
		}
		if incarnation, err = c.variantOf(has); err != nil {
			return err
		}
	}
	if c.dialect == SQLite {
		if err := c.onePath(ctx, "/proc/self/mountinfo"); err != nil {
			return err
		}
	}
	if c.dialect == SQLite && !c.own {
		if err := c.oneDatabase(ctx); err != nil {
			return err
		}
	}
	if !c.compares() {
		incarnation = ""
	}
	c.use(clocks[c.dialect], incarnation)
	return nil
}

// oneDatabase returns an error if two connections of the caller's pool see two databases
// in memory. Each would lend the same worker ids and numbers.
func (c *conn) oneDatabase(ctx context.Context) error {
	file, _, err := one(ctx, c, "file", nil, column[sql.NullString])
	if err != nil || file.String != "" || c.pool().Stats().MaxOpenConnections == 1 {
		return err
	}
	conns, err := c.two(ctx)
	if err != nil {
		return err
	}
	defer conns[0].Close()
	defer conns[1].Close()
	// Others probe at the same time, so each call looks for a number of its own.
	n := args{"n": rand.Int64()}
	return c.patiently(ctx, func() error {
		for _, name := range []string{"probe", "mark"} {
			if _, err := c.execOn(ctx, conns[0], name, n); err != nil {
				return err
			}
		}
		seen, err := query(ctx, conns[1], c.named("marked"), n, column[int64])
		if c.tableMissing(err) || err == nil && seen[0] == 0 {
			err = advised{errors.New("each connection of the pool has a database in memory of its own: put the database in a file, or call SetMaxOpenConns(1) on the pool")}
		}
		return err
	})
}

// two takes two connections from the pool. It holds one only for a moment while it waits
// for the other, since others may do the same.
func (c *conn) two(ctx context.Context) (conns [2]*sql.Conn, err error) {
	for {
		if conns[0], err = c.pool().Conn(ctx); err != nil {
			return conns, err
		}
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		conns[1], err = c.pool().Conn(short)
		cancel()
		if err == nil {
			return conns, nil
		}
		err = errors.Join(err, conns[0].Close())
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return conns, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return conns, err
		}
	}
}

// compares reports whether another incarnation counts as a loss.
func (c *conn) compares() bool { return c.set.Quarantine != lease.QuarantineNever }

// settings returns the server settings that matter to leases.
func (c *conn) settings(ctx context.Context) (map[string]string, error) {
	type setting struct{ name, value string }
	found, err := all(ctx, c, "settings", nil, func(s *setting) []any { return []any{&s.name, &s.value} })
	has := map[string]string{}
	for _, s := range found {
		has[s.name] = s.value
	}
	return has, err
}

// variantOf returns the incarnation expression for MySQL or MariaDB, by the variables of
// the server.
func (c *conn) variantOf(has map[string]string) (string, error) {
	switch {
	case has["autocommit"] == "OFF":
		return "", errAutocommit
	case has["completion_type"] == "CHAIN":
		return "", advised{errors.New("completion_type is CHAIN, so leases would never be committed after a transaction: use a pool with completion_type=0 in its DSN")}
	case has["server_uuid"] != "" && has["binlog_format"] == "STATEMENT" && c.compares():
		// A replica that runs the statement again records its own server_uuid, and a
		// promotion that loses grants would pass unnoticed. MariaDB replicates the
		// primary's server_id.
		return "", advised{errors.New("binlog_format is STATEMENT, so replicas would record themselves as the server that lent the worker ids: set it to ROW or MIXED, or set quarantine: never (dbseq.WithQuarantine) if the database loses no acknowledged write")}
	case has["server_uuid"] != "":
		return incarnationMySQL, nil
	}
	return incarnationMariaDB, nil
}

// identify reads the incarnation in a separate statement, so that the error can say what
// to do.
func (c *conn) identify(ctx context.Context) (string, error) {
	if !c.compares() {
		return "", nil
	}
	id, _, err := one(ctx, c, "incarnation", nil, column[sql.NullString])
	switch {
	case err == nil && id.String != "":
		return id.String, nil
	case err == nil:
		err = errors.New("it is empty")
	case !c.is(err, unreadableMySQL, unreadableState, nil):
		return "", err // of the connection or a starting server: it may pass
	}
	return "", advised{fmt.Errorf("read which server this is, to notice a failover: %w: let the account run %q, or set quarantine: never (dbseq.WithQuarantine) if the database loses no acknowledged write",
		err, c.named("incarnation").text)}
}
