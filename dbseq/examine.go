package dbseq

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/lease"
)

// Examine checks the database, its settings and the account's rights, for "snowlease
// doctor". It changes nothing. It returns an error only for an invalid namespace.
func (c *Center) Examine(ctx context.Context, namespace string) ([]lease.Finding, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	x := examination{conn: c.conn, ctx: ctx}
	has, err := c.settings(ctx)
	x.clock()
	switch {
	case err != nil:
		x.Unknown("settings", err)
	case c.dialect == MySQL:
		x.mysql(has)
	case c.dialect == Postgres:
		x.postgres(has)
	default:
		x.sqlite(has)
	}
	x.rights()
	if c.dialect == MySQL {
		x.engines()
	}
	return x.List, nil
}

// An examination is one call of Examine.
type examination struct {
	findings.List
	*conn
	ctx context.Context //nolint:containedctx // lives as long as one call of Examine
}

func (x *examination) clock() {
	before := time.Now()
	if now, err := x.number(x.ctx, "clock", nil); err != nil {
		x.Unknown("clock", err)
	} else {
		x.Clock(time.UnixMilli(now), before, time.Now())
	}
}

const useThePrimary = "the server is a replica, or it or the session is read-only: use the address of the primary"

const durable = "a crash loses acknowledged writes, which repeats numbers of segments, and ids with quarantine: never: "

func (x *examination) mysql(has map[string]string) {
	zone, _, err := one(x.ctx, x.conn, "timezone", nil, column[string])
	if err != nil {
		x.Unknown("time zone", err)
	} else {
		x.OK("time zone", zone+"; leases use UTC")
	}
	var readOnly []string
	on := false
	for _, name := range []string{"read_only", "super_read_only", "innodb_read_only"} {
		if value, there := has[name]; there { // MariaDB has no super_read_only
			on = on || value == "ON" || value == "1"
			readOnly = append(readOnly, name+" is "+value)
		}
	}
	x.Judge(on, "primary", strings.Join(readOnly, ", "), useThePrimary)
	flush := has["innodb_flush_log_at_trx_commit"]
	x.Judge(flush != "1", "durability", "innodb_flush_log_at_trx_commit is "+flush, durable+"set it to 1")
	if has["log_bin"] == "ON" {
		if sync := has["sync_binlog"]; sync != "1" {
			x.Note("binlog", "sync_binlog is "+sync, "after a crash, replicas can be ahead of or behind the primary: set it to 1")
		}
		x.semiSync(has)
	}
	if mode := has["group_replication_single_primary_mode"]; mode != "" {
		const seen = "the server is a member of a replication group, group_replication_single_primary_mode is "
		switch {
		case x.compares():
			x.Note("cluster", seen+mode, "use the address of the primary, or of one member at a time: each change of the member starts a quarantine, which never ends if several members answer in turn")
		case mode == "ON":
			x.Note("cluster", seen+mode, "a majority of members that fails at once loses writes that it has acknowledged: set quarantine: on-change if that can happen")
		default:
			x.Fault("cluster", seen+mode, "members see one another's writes late: set quarantine: on-change, and use the address of one member at a time")
		}
	}
	if has["wsrep_on"] == "ON" {
		const seen = "the server is a node of a Galera cluster"
		if x.compares() {
			x.Note("cluster", seen, "use the address of one node at a time: each change of the node starts a quarantine, which never ends if several nodes answer in turn")
		} else {
			x.Fault("cluster", seen, "a Galera cluster can lose writes that it has acknowledged: set quarantine: on-change, and use the address of one node at a time")
		}
	}
}

// semiSync judges semi-synchronous replication, whose settings have other names on MySQL
// than on MariaDB and before MySQL 8.0.26.
func (x *examination) semiSync(has map[string]string) {
	plugin := "rpl_semi_sync_source"
	if _, old := has["rpl_semi_sync_master_enabled"]; old || has["server_uuid"] == "" {
		plugin = "rpl_semi_sync_master"
	}
	if has[plugin+"_enabled"] != "ON" {
		x.replication("replicas, semi-synchronous replication is off", "semi-synchronous replication ("+plugin+"_enabled=ON, "+plugin+"_wait_point=AFTER_SYNC)")
		return
	}
	if point := has[plugin+"_wait_point"]; point != "AFTER_SYNC" {
		x.replication("replicas, "+plugin+"_wait_point is "+point+": others see a grant before a replica has it", plugin+"_wait_point=AFTER_SYNC")
	}
	if timeout, err := strconv.ParseUint(has[plugin+"_timeout"], 10, 64); err != nil || timeout < week {
		x.replication("replicas, "+plugin+"_timeout is "+has[plugin+"_timeout"]+" ms: without replicas for so long, the server goes on without them", "a "+plugin+"_timeout of a year")
	}
}

// week is how many milliseconds a server should at least wait for its replicas.
const week = 7 * 24 * 3600 * 1000

func (x *examination) postgres(has map[string]string) {
	x.OK("time zone", has["TimeZone"]+"; leases use UTC")
	recovery, readOnly := has["pg_is_in_recovery"], has["default_transaction_read_only"]
	x.Judge(recovery == "true" || readOnly == "on", "primary", "pg_is_in_recovery is "+recovery+", default_transaction_read_only "+readOnly,
		useThePrimary)
	for _, name := range []string{"synchronous_commit", "fsync", "full_page_writes"} {
		x.Judge(has[name] == "off", "durability", name+" is "+has[name], durable+"set it to on (for synchronous_commit, at least for this account: ALTER ROLE name SET synchronous_commit = on)")
	}
	if has["synchronous_standby_names"] == "" {
		x.replication("standbys, none of them synchronous", "synchronous_standby_names")
	}
}

func (x *examination) sqlite(has map[string]string) {
	x.Judge(has["file"] == "", "file", has["file"], "the database is in memory: other processes do not see it, and a restart loses it; give a path")
	// synchronous is a setting of the connection, and the doctor uses the same DSN.
	level, journal := has["synchronous"], has["journal_mode"]
	name := map[string]string{"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}[level]
	late := level == "1" && journal == "wal"
	x.Judge(level == "0" || late && !x.compares(), "durability", "synchronous is "+name+", journal_mode "+journal,
		"a crash of the host loses acknowledged grants, and nothing shows it afterwards: set _pragma=synchronous(2) in the DSN")
	if late && x.compares() {
		x.Note("durability", "with NORMAL and wal, a power failure can lose the last commits", "set _pragma=synchronous(2) in the DSN if power can fail")
	}
}

// replication judges asynchronous replicas, if there are any. It says nothing if the
// account may not see them.
func (x *examination) replication(seen, advice string) {
	n, err := x.number(x.ctx, "replicas", nil)
	seen = fmt.Sprint(n, " ", seen)
	switch {
	case err != nil || n == 0:
	case x.compares():
		x.Note("replication", seen, "a failover may lose acknowledged grants: a quarantine follows, and ids stay unique unless two primaries run at once: "+advice+" avoids both")
	default:
		x.Fault("replication", seen, "quarantine: never promises that no acknowledged write is lost, and a failover here loses some: "+advice+", or set quarantine: on-change")
	}
}

// rights tries the statements that leases need on each table. None touches a row.
func (x *examination) rights() {
	var missing []string
	for _, name := range leaseTables.names {
		table := x.set.Prefix + name
		ok, err := x.hasTable(x.ctx, name)
		if err != nil {
			x.Unknown("rights", err)
			return
		}
		if !ok {
			missing = append(missing, table)
			continue
		}
		last := "UPDATE " + table + " SET ns = ns WHERE 1 = 0"
		if name == "ticket" {
			last = "DELETE FROM " + table + " WHERE 1 = 0"
		}
		for _, text := range []string{"SELECT * FROM " + table + " WHERE 1 = 0", "INSERT INTO " + table + " SELECT * FROM " + table + " WHERE 1 = 0", last} {
			if _, err := x.pool().ExecContext(x.ctx, text); err != nil {
				verb, _, _ := strings.Cut(text, " ")
				check, advice := "rights", x.grants(leaseTables)
				if x.readOnly(err) {
					check, advice = "primary", useThePrimary
				}
				if check == "rights" || !slices.ContainsFunc(x.List, func(f lease.Finding) bool { return f.Level == lease.LevelFault && f.Check == check }) {
					x.Fault(check, fmt.Sprintf("%s on %s: %v", verb, table, err), advice)
				}
				return
			}
		}
	}
	if len(missing) == 0 {
		x.OK("rights", "the account may read and write the tables")
		return
	}
	may, err := x.number(x.ctx, "maycreate", nil)
	if err != nil {
		x.Unknown("rights", err)
		return
	}
	x.Judge(may == 0, "rights", fmt.Sprintf("there is no table %s; the account may create it: %v", strings.Join(missing, ", "), may > 0),
		"run the file of dbseq/schema for this database once by hand, and "+x.grants(leaseTables))
}

// engines checks the storage engines of the tables on MySQL.
func (x *examination) engines() {
	for _, name := range leaseTables.names {
		table := x.set.Prefix + name
		engine, there, err := one(x.ctx, x.conn, "engine", args{"table": table}, column[string])
		if err != nil {
			x.Unknown("engine", err)
		} else if there {
			x.Fault("engine", table+" is "+engine, "it loses writes in a crash and locks whole tables: ALTER TABLE "+table+" ENGINE=InnoDB")
		}
	}
}
