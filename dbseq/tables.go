package dbseq

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
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

// variables are what tells MySQL, MariaDB and their settings apart.
const variables = `SHOW VARIABLES WHERE Variable_name IN ('server_uuid', 'autocommit', 'binlog_format')`

// server returns the statements for the server, and asks which it is the first time,
// or again.
func (c *Center) server(ctx context.Context, again bool) (*queries, error) {
	if q := c.queries.Load(); q != nil && (!again || c.dialect != mysql) {
		return q, nil
	}
	incarnation := map[string]string{postgres: incarnationPostgres, sqlite: incarnationSQLite}[c.dialect]
	if c.dialect == mysql {
		var err error
		if incarnation, err = c.variant(ctx); err != nil {
			return nil, err
		}
	}
	if c.quarantine == Never {
		incarnation = ""
	}
	q := load(c.dialect, c.prefix, clocks[c.dialect], incarnation)
	c.queries.Store(q)
	return q, nil
}

func (c *Center) variant(ctx context.Context) (string, error) {
	has := map[string]string{}
	err := c.query(ctx, statement{text: variables}, nil, func(rows *sql.Rows) error {
		var name, value string
		err := rows.Scan(&name, &value)
		has[name] = value
		return err
	})
	if err != nil {
		return "", err
	}
	return c.variantOf(has)
}

// variantOf decides by the variables of the server.
func (c *Center) variantOf(has map[string]string) (string, error) {
	switch {
	case has["autocommit"] == "OFF":
		return "", advised{errors.New("autocommit is off: leases would never be committed; give a pool with autocommit=1 in its DSN")}
	case has["server_uuid"] != "" && has["binlog_format"] == "STATEMENT" && c.quarantine != Never:
		// A statement that is run again on a replica puts the replica's own server_uuid
		// on record, and a promotion that loses grants would pass unseen. MariaDB
		// replicates the server_id that was.
		return "", advised{errors.New("binlog_format is STATEMENT, by which replicas would take themselves for the server that lent the worker ids: set it to ROW or MIXED, or set quarantine: never (dbseq.WithQuarantine) if the database loses no write that it has acknowledged")}
	case has["server_uuid"] != "":
		return incarnationMySQL, nil
	}
	return incarnationMariaDB, nil
}

// prepare makes the center ready for k: it learns which server it talks to, refuses
// one whose clock or incarnation is no good before anything is written, and finds or
// creates the tables.
func (c *Center) prepare(ctx context.Context, k *call) (err error) {
	if c.ready.Load() {
		k.q = c.queries.Load()
		return nil
	}
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if k.q, err = c.server(ctx, false); err != nil || c.ready.Load() {
		return err
	}
	now, err := c.number(ctx, k.q.clock, nil)
	if err != nil {
		return err
	}
	if err := k.refuse(now); err != nil {
		return err
	}
	if err := c.identify(ctx, k.q); err != nil {
		return err
	}
	if err := c.tables(ctx, k.q); err != nil {
		return err
	}
	c.ready.Store(true)
	return nil
}

// identify reads the incarnation once by itself, so that the error can say what to do.
func (c *Center) identify(ctx context.Context, q *queries) error {
	if !q.compared {
		return nil
	}
	var id sql.NullString
	err := c.query(ctx, q.incarnation, nil, func(rows *sql.Rows) error { return rows.Scan(&id) })
	switch {
	case err == nil && id.String != "":
		return nil
	case err == nil:
		err = fmt.Errorf("it is empty")
	case !c.is(err, unreadableMySQL, unreadableState, nil):
		return err // of the connection, or of a server that starts: it can pass
	}
	return advised{fmt.Errorf("read which server this is, to notice a failover: %w: let the account run %q, or set quarantine: never (dbseq.WithQuarantine) if the database loses no write that it has acknowledged",
		err, q.incarnation.text)}
}

// missing names the first table that is not there.
func (c *Center) missing(ctx context.Context, q *queries) (string, error) {
	for _, name := range []string{q.tableSlot, q.tableTicket, q.tableMeta} {
		if n, err := c.number(ctx, q.table, args{"table": name}); err != nil || n == 0 {
			return name, err
		}
	}
	return "", nil
}

func (c *Center) noTable(q *queries, name string) error {
	return fmt.Errorf("there is no table %s: let a process acquire a worker id first, or run %s by hand", name, q.tableDefinition)
}

// tables creates what is missing.
func (c *Center) tables(ctx context.Context, q *queries) error {
	for _, t := range []struct {
		name   string
		create statement
	}{{q.tableSlot, q.createSlot}, {q.tableTicket, q.createTicket}, {q.tableMeta, q.createMeta}} {
		if err := c.create(ctx, q, t.name, t.create); err != nil {
			return err
		}
	}
	return nil
}

// create creates one table unless it is there.
func (c *Center) create(ctx context.Context, q *queries, name string, ddl statement) error {
	for i := 1; ; i++ {
		n, err := c.number(ctx, q.table, args{"table": name})
		if err != nil || n > 0 {
			return err
		}
		if !c.migrate {
			return advised{c.noTable(q, name)}
		}
		_, failure := c.pool().ExecContext(ctx, ddl.text)
		if failure == nil {
			return nil
		}
		// Somebody else may have been first; each engine says so in another way, and
		// the table itself says it best.
		if n, err := c.number(ctx, q.table, args{"table": name}); err == nil && n > 0 {
			return nil
		}
		if i == patience || !c.transient(failure) {
			return fmt.Errorf("create table %s: %w", name, c.checked(failure))
		}
		if err := pause(ctx, time.Duration(i)*10*time.Millisecond); err != nil {
			return err
		}
	}
}
