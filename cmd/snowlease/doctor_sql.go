package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// sql looks at a database.
func (d *doctor) sql(ctx context.Context, o *opened) {
	db, err := o.db.DB()
	if err != nil {
		d.unknown("database", err)
		return
	}
	switch q := (querier{ctx, db}); o.db.Name() {
	case "mysql":
		d.mysql(q)
	case "postgres":
		d.postgres(q)
	default:
		d.sqlite(q)
	}
}

// A querier asks for single values.
type querier struct {
	ctx context.Context //nolint:containedctx // lives as long as one call of doctor.sql
	db  *sql.DB
}

// text returns the last column of the one row of a query, and "" where there is none.
func (q querier) text(query string, args ...any) (string, error) {
	rows, err := q.db.QueryContext(q.ctx, query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values, last := make([]any, len(columns)), sql.NullString{}
	for i := range values {
		values[i] = new(any)
	}
	values[len(values)-1] = &last
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return "", err
		}
	}
	return last.String, rows.Err()
}

// ask is text, and a finding where it fails.
func (d *doctor) ask(q querier, check, query string, args ...any) (string, bool) {
	value, err := q.text(query, args...)
	if err != nil {
		d.unknown(check, err)
	}
	return value, err == nil
}

// now compares the clock that a query shows as Unix milliseconds.
func (d *doctor) now(q querier, query string) {
	before, ms := time.Now(), int64(0)
	if err := q.db.QueryRowContext(q.ctx, query).Scan(&ms); err != nil {
		d.unknown("clock", err)
		return
	}
	d.clock(time.UnixMilli(ms), before, time.Now())
}

func (d *doctor) tables() []string {
	prefix := d.store.prefix
	if prefix == "" {
		prefix = "snowlease_"
	}
	return []string{prefix + "slot", prefix + "ticket", prefix + "meta"}
}

// grants names the rights of docs/engines.md.
func (d *doctor) grants() string {
	t := d.tables()
	return fmt.Sprintf("grant the account SELECT, INSERT and UPDATE on %s and %s, and SELECT, INSERT and DELETE on %s", t[0], t[2], t[1])
}

// rights tries the statements that leases need on the tables, none of which touches a
// row. there says which tables there are; may says whether others may be created.
func (d *doctor) rights(q querier, there func(table string) (bool, error), may func() (bool, error)) {
	var missing []string
	for _, table := range d.tables() {
		ok, err := there(table)
		if err != nil {
			d.unknown("rights", err)
			return
		}
		if !ok {
			missing = append(missing, table)
			continue
		}
		last := "UPDATE " + table + " SET ns = ns WHERE 1 = 0"
		if strings.HasSuffix(table, "ticket") {
			last = "DELETE FROM " + table + " WHERE 1 = 0"
		}
		for _, statement := range []string{
			"SELECT * FROM " + table + " WHERE 1 = 0", "INSERT INTO " + table + " SELECT * FROM " + table + " WHERE 1 = 0", last,
		} {
			if _, err := q.db.ExecContext(q.ctx, statement); err != nil {
				verb, _, _ := strings.Cut(statement, " ")
				d.fault("rights", fmt.Sprintf("%s on %s: %v", verb, table, err), d.grants())
				return
			}
		}
	}
	if len(missing) == 0 {
		d.ok("rights", "the account may read and write the tables")
		return
	}
	ok, err := may()
	if err != nil {
		d.unknown("rights", err)
		return
	}
	d.judge(!ok, "rights", fmt.Sprintf("there is no table %s; the account may create it: %v", strings.Join(missing, ", "), ok),
		"run the file of dbseq/schema for this database once by hand, and "+d.grants())
}

// failover judges replication that does not wait.
func (d *doctor) failover(seen, advice string) {
	if !d.compares() {
		d.fault("replication", seen, "quarantine: never promises that no acknowledged write is lost, and a failover here loses some: "+advice+", or set quarantine: on-change")
		return
	}
	d.note("replication", seen, "a failover may lose acknowledged grants: a quarantine follows, and ids stay unique unless two primaries run at once; "+advice+" avoids both")
}

const durable = "a crash forgets what was acknowledged: numbers of segments come twice, and ids with quarantine: never: "

func (d *doctor) mysql(q querier) {
	d.now(q, "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000")
	if zone, ok := d.ask(q, "time zone", "SELECT CONCAT(@@global.time_zone, ', session ', @@session.time_zone)"); ok {
		d.ok("time zone", zone+"; leases use UTC")
	}
	variable := func(name string) string {
		value, err := q.text("SHOW VARIABLES LIKE '" + name + "'")
		if err != nil {
			d.unknown(name, err)
		}
		return value
	}
	readOnly := variable("read_only")
	d.judge(readOnly == "ON" || readOnly == "1", "primary", "read_only is "+readOnly, "the server is a replica, or was made read-only: the address must lead to the primary")
	flush := variable("innodb_flush_log_at_trx_commit")
	d.judge(flush != "1", "durability", "innodb_flush_log_at_trx_commit is "+flush, durable+"set it to 1")
	if variable("log_bin") == "ON" {
		if format := variable("binlog_format"); variable("server_uuid") != "" {
			d.judge(format == "STATEMENT" && d.compares(), "binlog", "binlog_format is "+format, "replicas would take themselves for the server that lent the worker ids: set it to ROW or MIXED")
		}
		if sync := variable("sync_binlog"); sync != "1" {
			d.note("binlog", "sync_binlog is "+sync, "after a crash replicas can be ahead of the primary, or behind: set it to 1")
		}
		semi, _ := q.text("SHOW VARIABLES WHERE Variable_name IN ('rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled')")
		connected, err := q.text("SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
		if err == nil && connected != "0" && semi != "ON" {
			d.failover(connected+" replicas, semi-synchronous replication is off", "semi-synchronous replication (AFTER_SYNC)")
		}
	}
	if variable("wsrep_on") == "ON" {
		const seen = "the server is a node of a Galera cluster"
		if d.compares() {
			d.note("cluster", seen, "let the address lead to one node at a time: each change of the node starts a quarantine, and with several nodes at once it never ends")
		} else {
			d.fault("cluster", seen, "a Galera cluster can lose writes that it has acknowledged: set quarantine: on-change, and let the address lead to one node at a time")
		}
	}
	d.rights(q, func(table string) (bool, error) {
		n, err := q.text("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", table)
		return n != "0", err
	}, func() (bool, error) {
		n, err := q.text("SELECT (SELECT COUNT(*) FROM information_schema.user_privileges WHERE privilege_type = 'CREATE')" +
			" + (SELECT COUNT(*) FROM information_schema.schema_privileges WHERE privilege_type = 'CREATE' AND DATABASE() LIKE table_schema)")
		return n != "0", err
	})
	for _, table := range d.tables() {
		engine, ok := d.ask(q, "engine", "SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", table)
		if ok && engine != "" && engine != "InnoDB" {
			d.fault("engine", table+" is "+engine, "it loses writes in a crash and locks whole tables: ALTER TABLE "+table+" ENGINE=InnoDB")
		}
	}
}

func (d *doctor) postgres(q querier) {
	d.now(q, "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint")
	setting := func(name string) string {
		value, err := q.text("SELECT current_setting('" + name + "')")
		if err != nil {
			d.unknown(name, err)
		}
		return value
	}
	d.ok("time zone", setting("TimeZone")+"; leases use UTC")
	if recovery, ok := d.ask(q, "primary", "SELECT pg_is_in_recovery()::text"); ok {
		readOnly := setting("default_transaction_read_only")
		d.judge(recovery == "true" || readOnly == "on", "primary", "pg_is_in_recovery is "+recovery+", default_transaction_read_only "+readOnly,
			"the server is a standby, or sessions are read-only: the address must lead to the primary")
	}
	for _, name := range []string{"synchronous_commit", "fsync", "full_page_writes"} {
		value := setting(name)
		d.judge(value == "off", "durability", name+" is "+value, durable+"set it to on (for synchronous_commit, at least for this account: ALTER ROLE name SET synchronous_commit = on)")
	}
	standbys, err := q.text("SELECT COUNT(*) FROM pg_stat_replication")
	if names := setting("synchronous_standby_names"); err == nil && standbys != "0" && names == "" {
		d.failover(standbys+" standbys, none of them synchronous", "synchronous_standby_names")
	}
	d.rights(q, func(table string) (bool, error) {
		found, err := q.text("SELECT COALESCE(to_regclass($1::text)::text, '')", table)
		return found != "", err
	}, func() (bool, error) {
		may, err := q.text("SELECT has_schema_privilege(current_schema(), 'CREATE')::text")
		return may == "true", err
	})
}

func (d *doctor) sqlite(q querier) {
	d.now(q, "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)")
	file, ok := d.ask(q, "file", "SELECT file FROM pragma_database_list WHERE name = 'main'")
	if ok {
		d.judge(file == "", "file", file, "the database is in memory: other processes do not see it, and a restart loses it; give a path")
	}
	// It is a setting of the connection, which this one has from the same DSN.
	if level, ok := d.ask(q, "durability", "SELECT synchronous FROM pragma_synchronous"); ok {
		name := map[string]string{"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}[level]
		journal, _ := q.text("SELECT journal_mode FROM pragma_journal_mode")
		d.judge(level == "0" || level == "1" && journal == "wal" && !d.compares(), "durability", "synchronous is "+name+", journal_mode "+journal,
			"a crash of the host forgets grants that were acknowledged, and nothing shows it afterwards: say _pragma=synchronous(2) in the DSN")
		if level == "1" && journal == "wal" && d.compares() {
			d.note("durability", "with NORMAL and wal a loss of power can forget the last commits", "say _pragma=synchronous(2) in the DSN if power can fail")
		}
	}
	d.rights(q, func(table string) (bool, error) {
		n, err := q.text("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?", table)
		return n != "0", err
	}, func() (bool, error) {
		readOnly, err := q.text("SELECT query_only FROM pragma_query_only")
		return readOnly == "0", err
	})
	if d.replicas > 1 {
		d.note("hosts", fmt.Sprintf("%d replicas on one file", d.replicas), "all of them must run on this host: SQLite does not lock across a network")
	}
}
