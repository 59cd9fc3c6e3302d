package dbseq

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Expressions of the server's clock in Unix milliseconds, whatever the session's time
// zone is. All occurrences in one statement have one value.
var clocks = map[string]string{
	mysql:    `(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000)`,
	postgres: `(EXTRACT(EPOCH FROM statement_timestamp()) * 1000)::bigint`,
	sqlite:   `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`,
}

// Expressions of the server process that runs a statement: what was acknowledged can
// be lost only where another one answers. All are NULL where a part is not to be had.
//
// MySQL and MariaDB tell when they started by the time at which the statement began,
// less how long they have run by then: whole seconds that no step of the clock
// changes. An uptime below zero is shown as an unsigned number. The status of the
// session has it without a sum over all connections.
//
// A promotion changes PostgreSQL's timeline at once in the names of its log files; in
// its control file it does later. Where a crash of one of its processes ends all
// others, their parent lives on, and the end of what was replayed tells.
var (
	incarnationMySQL    = `CONCAT(@@server_uuid, '/', ` + startOf("performance_schema") + `)`
	incarnationMariaDB  = `CONCAT(@@server_id, '/', @@hostname, ':', @@port, '/', ` + startOf("information_schema") + `)`
	incarnationPostgres = `(SELECT system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/' ||` +
		` to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS.US') || '/' ||` +
		` COALESCE(pg_last_wal_replay_lsn()::text, '-') FROM pg_control_system())`
	incarnationSQLite = `'sqlite'`
)

func startOf(schema string) string {
	return `(SELECT UNIX_TIMESTAMP() - CAST(variable_value AS SIGNED) FROM ` + schema + `.session_status WHERE variable_name = 'Uptime')`
}

// server asks which server it is the first time, or again, and loads the statements for it.
func (c *conn) server(ctx context.Context, again bool) error {
	if c.known.Load() && (!again || c.dialect != mysql) {
		return nil
	}
	incarnation := map[string]string{postgres: incarnationPostgres, sqlite: incarnationSQLite}[c.dialect]
	if c.dialect == mysql {
		has, err := c.settings(ctx)
		if err != nil {
			return err
		}
		if incarnation, err = c.variantOf(has); err != nil {
			return err
		}
	}
	if !c.compares() {
		incarnation = ""
	}
	c.use(clocks[c.dialect], incarnation)
	return nil
}

// compares reports whether another incarnation is a loss.
func (c *conn) compares() bool { return c.quarantine != Never }

// settings are those of the server that matter here.
func (c *conn) settings(ctx context.Context) (map[string]string, error) {
	type setting struct{ name, value string }
	found, err := all(ctx, c, "settings", nil, func(s *setting) []any { return []any{&s.name, &s.value} })
	has := map[string]string{}
	for _, s := range found {
		has[s.name] = s.value
	}
	return has, err
}

// variantOf decides by the variables of the server.
func (c *conn) variantOf(has map[string]string) (string, error) {
	switch {
	case has["autocommit"] == "OFF":
		return "", advised{errors.New("autocommit is off: leases would never be committed; give a pool with autocommit=1 in its DSN")}
	case has["server_uuid"] != "" && has["binlog_format"] == "STATEMENT" && c.compares():
		// A statement that is run again on a replica puts the replica's own server_uuid
		// on record, and a promotion that loses grants would pass unseen. MariaDB
		// replicates the server_id that was.
		return "", advised{errors.New("binlog_format is STATEMENT, by which replicas would take themselves for the server that lent the worker ids: set it to ROW or MIXED, or set quarantine: never (dbseq.WithQuarantine) if the database loses no write that it has acknowledged")}
	case has["server_uuid"] != "":
		return incarnationMySQL, nil
	}
	return incarnationMariaDB, nil
}

// identify reads the incarnation by itself, so that the error can say what to do.
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
		return "", err // of the connection, or of a server that starts: it can pass
	}
	return "", advised{fmt.Errorf("read which server this is, to notice a failover: %w: let the account run %q, or set quarantine: never (dbseq.WithQuarantine) if the database loses no write that it has acknowledged",
		err, c.named("incarnation").text)}
}
