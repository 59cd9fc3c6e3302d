package dbseq

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"

	"github.com/snowlease/snowlease/internal/findings"
	"github.com/snowlease/snowlease/lease"
)

// Examine checks the database, its settings and the account's rights, for "snowlease
// doctor". It changes nothing. It returns an error only for an invalid namespace.
func (c *Center) Examine(ctx context.Context, namespace string) ([]lease.Finding, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	x := examination{conn: c.conn, ctx: ctx}
	has, err := c.settings(ctx)
	x.clock()
	switch {
	case err != nil:
		x.Unknown("settings", err)
	case c.dialect.name == MySQL:
		x.mysql(has)
	case c.dialect.name == Postgres:
		x.postgres(has)
	default:
		x.sqlite(has)
	}
	x.rights()
	if c.dialect.name != SQLite {
		x.engines()
		x.encryption()
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
	if now, err := x.now(x.ctx); err != nil {
		x.Unknown("clock", err)
	} else {
		x.Clock(time.UnixMilli(now), before, time.Now())
	}
}

// encryption judges one connection of the pool.
func (x *examination) encryption() {
	cipher, _, err := one(x.ctx, x.conn, "cipher", nil, func(s *[2]string) []any { return []any{&s[0], &s[1]} })
	client := ""
	if err == nil {
		client, _, err = one(x.ctx, x.conn, "client", nil, column[string])
	}
	if err != nil {
		x.Unknown("encryption", err)
	} else {
		x.Encryption(cipher[1], client)
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
	if method := has["innodb_flush_method"]; method == "nosync" || method == "littlesync" {
		x.Fault("durability", "innodb_flush_method is "+method, durable+"leave it out")
	}
	if has["log_bin"] == "ON" {
		// The binary log then decides at recovery what was committed.
		x.Judge(has["sync_binlog"] != "1", "durability", "sync_binlog is "+has["sync_binlog"], durable+"set it to 1")
		x.semiSync(has)
	}
	if level := cmp.Or(has["transaction_isolation"], has["tx_isolation"]); level == "READ-UNCOMMITTED" {
		x.Fault("isolation", level, "a repeated borrow could be answered by what is not committed: leave it out of the DSN, or set another for the account")
	}
	if mode := has["group_replication_single_primary_mode"]; mode != "" {
		const seen = "the server is a member of a replication group, group_replication_single_primary_mode is "
		switch {
		case x.compares():
			x.Note("cluster", seen+mode, "use the address of the primary, or of one member at a time: each change of the member starts a quarantine, which never ends if several members answer in turn")
		case mode == "ON" && has["group_replication_consistency"] == "EVENTUAL":
			x.Fault("cluster", seen+"ON, group_replication_consistency is EVENTUAL", "after a failover, a primary takes writes before it has all that was acknowledged: set it to BEFORE_ON_PRIMARY_FAILOVER, or set quarantine: on-change")
		case mode == "ON":
			x.Note("cluster", seen+mode, "a majority of members that fails at once loses writes that it has acknowledged: set quarantine: on-change if that can happen")
		default:
			x.Fault("cluster", seen+mode, "members see one another's writes late: set quarantine: on-change, and use the address of one member at a time")
		}
	}
	if has["wsrep_on"] == "ON" {
		for _, option := range []string{"pc.ignore_sb = true", "pc.ignore_quorum = true"} {
			if strings.Contains(has["wsrep_provider_options"], option) {
				x.Fault("cluster", option, "nodes that do not see each other lend the same worker ids: leave it out of wsrep_provider_options")
			}
		}
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
	plugin, alone := "rpl_semi_sync_source", "_wait_no_replica"
	if _, old := has["rpl_semi_sync_master_enabled"]; old || has["server_uuid"] == "" {
		plugin, alone = "rpl_semi_sync_master", "_wait_no_slave"
	}
	if has[plugin+"_enabled"] != "ON" {
		x.replication("replicas, semi-synchronous replication is off", "semi-synchronous replication ("+plugin+"_enabled=ON, "+plugin+"_wait_point=AFTER_SYNC)")
		return
	}
	if point := has[plugin+"_wait_point"]; point != "AFTER_SYNC" {
		x.replication("replicas, "+plugin+"_wait_point is "+point+": others see a grant before a replica has it", plugin+"_wait_point=AFTER_SYNC")
	}
	if has[plugin+alone] == "OFF" {
		x.replication("replicas, "+plugin+alone+" is OFF: without replicas, the server goes on without them", plugin+alone+"=ON")
	}
	status, _, err := one(x.ctx, x.conn, "semisync", nil, func(s *[2]string) []any { return []any{&s[0], &s[1]} })
	if err == nil && status[1] == "OFF" {
		x.replication("replicas, "+plugin+"_status is OFF: the server does not wait for them", "semi-synchronous replication on them too")
	}
	x.waits(cmp.Or(has["rpl_semi_sync_source_wait_for_replica_count"], has["rpl_semi_sync_master_wait_for_slave_count"])) // MariaDB has none
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
	names, commit := has["synchronous_standby_names"], has["synchronous_commit"]
	waits := ""
	if m := quorum.FindStringSubmatch(names); m != nil {
		waits = m[1]
	}
	switch {
	case names == "":
		x.replication("standbys, none of them synchronous", "synchronous_standby_names")
	case commit == "local":
		x.loses("synchronous_commit is local, so commits wait for no standby", "synchronous_commit = on")
	case commit == "remote_write" && !x.compares():
		x.Note("replication", "synchronous_commit is remote_write", "grants are lost if primary and standby lose power at once: set it to on")
	default:
		x.waits(waits)
	}
}

// quorum matches synchronous_standby_names if it has a number. Without one, that is 1.
var quorum = regexp.MustCompile(`(?i)^\s*(?:(?:ANY|FIRST)\s*)?(\d+)\s*\(`)

func (x *examination) sqlite(has map[string]string) {
	x.Judge(has["file"] == "", "file", has["file"], "the database is in memory: other processes do not see it, and a restart loses it; give a path")
	// synchronous is a setting of the connection, and the doctor uses the same DSN.
	level, journal := has["synchronous"], has["journal_mode"]
	name := map[string]string{"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}[level]
	late := level == "1" && journal == "wal"
	broken := level == "0" || journal == "memory" || journal == "off"
	x.Judge(broken || late && !x.compares(), "durability", "synchronous is "+name+", journal_mode "+journal,
		"a crash of the host loses acknowledged grants or the file, and nothing shows it afterwards: set _pragma=synchronous(2) and _pragma=journal_mode(WAL) in the DSN")
	if late && x.compares() {
		x.Note("durability", "with NORMAL and wal, a power failure can lose the last commits", "set _pragma=synchronous(2) in the DSN if power can fail")
	}
}

// replication judges asynchronous replicas, if there are any. It says nothing if the
// account may not see them.
func (x *examination) replication(seen, advice string) {
	if n, err := x.number(x.ctx, "replicas", nil); err == nil && n > 0 {
		x.loses(fmt.Sprint(n, " ", seen), advice)
	}
}

// waits notes replicas beyond those that a commit waits for: 1 if there is no number.
func (x *examination) waits(number string) {
	waits, err := strconv.ParseInt(cmp.Or(number, "1"), 10, 64)
	if n, failed := x.number(x.ctx, "replicas", nil); err == nil && failed == nil && n > waits && !x.compares() {
		x.Note("replication", fmt.Sprintf("%d replicas, commits wait for %d", n, waits), "a failover to one that lags loses acknowledged grants: promote the one that has received most, or let commits wait for all")
	}
}

// loses adds that a failover loses acknowledged writes.
func (x *examination) loses(seen, advice string) {
	if x.compares() {
		x.Note("replication", seen, "a failover may lose acknowledged grants: a quarantine follows, and ids stay unique unless two primaries run at once: "+advice+" avoids both")
	} else {
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

// engines checks the storage engines of the tables on MySQL, and that they are logged on
// PostgreSQL.
func (x *examination) engines() {
	for _, name := range leaseTables.names {
		table := x.set.Prefix + name
		engine, there, err := one(x.ctx, x.conn, "engine", args{"table": table}, column[string])
		if err != nil {
			x.Unknown("engine", err)
		} else if there {
			change := map[Dialect]string{MySQL: "ENGINE=InnoDB", Postgres: "SET LOGGED"}[x.dialect.name]
			x.Fault("engine", table+" is "+engine, "it loses writes in a crash: ALTER TABLE "+table+" "+change)
		}
	}
}
