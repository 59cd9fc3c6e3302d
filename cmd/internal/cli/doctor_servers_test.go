//go:build prove

package cli

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// The advice names the settings as the server does.
func TestDoctorOnMySQLWithReplica(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		primary         func(testing.TB, ...string) *testserver.Server
		replica         func(testing.TB, *testserver.Server, ...string) *testserver.Server
		plugins, plugin string
		alone           string
	}{
		"mariadb": {testserver.NewMariaDBPrimary, testserver.NewMariaDBReplica, "", "rpl_semi_sync_master", "_wait_no_slave"},
		"mysql":   {testserver.NewMySQLPrimary, testserver.NewMySQLReplica, "--plugin-load-add=semisync_source.so", "rpl_semi_sync_source", "_wait_no_replica"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := durable
			if c.plugins != "" {
				args = append([]string{c.plugins}, durable...)
			}
			primary := c.primary(t, args...)
			_, found := examine(t, mysqlURL(t, c.replica(t, primary).DSN()))
			require.True(t, slices.ContainsFunc(found, func(f lease.Finding) bool {
				return f.Level == lease.LevelFault && f.Check == "durability" && f.Seen == "innodb_flush_method is nosync"
			}), found)
			url := mysqlURL(t, primary.DSN())
			connected := func(seen string) {
				t.Helper()
				require.Eventually(t, func() bool {
					_, all := examine(t, url, "--quarantine=never")
					return slices.ContainsFunc(all, func(f lease.Finding) bool { return f.Check == "replication" && strings.HasPrefix(f.Seen, seen) })
				}, 30*time.Second, 100*time.Millisecond, "the replica connects")
			}
			connected("1 replicas")
			for _, step := range []struct{ set, seen, advice string }{
				{"", "1 replicas, semi-synchronous replication is off", c.plugin + "_enabled=ON"},
				{c.plugin + "_enabled = ON, GLOBAL " + c.plugin + "_wait_point = 'AFTER_COMMIT'", "1 replicas, " + c.plugin + "_wait_point is AFTER_COMMIT", c.plugin + "_wait_point=AFTER_SYNC"},
				{c.plugin + "_wait_point = 'AFTER_SYNC', GLOBAL " + c.plugin + c.alone + " = OFF", "1 replicas, " + c.plugin + c.alone + " is OFF", c.plugin + c.alone + "=ON"},
				{c.plugin + c.alone + " = ON", "1 replicas, " + c.plugin + "_timeout is 10000 ms", c.plugin + "_timeout of"},
			} {
				if step.set != "" {
					sqlDo(t, "mysql", primary.DSN(), "SET GLOBAL "+step.set)
				}
				_, all := examine(t, url)
				requireFinding(t, all, lease.LevelNote, "replication", step.seen)
				_, all = examine(t, url, "--quarantine=never")
				found := false
				for _, f := range all {
					found = found || f.Level == lease.LevelFault && f.Check == "replication" && strings.Contains(f.Seen, step.seen) && strings.Contains(f.Advice, step.advice)
				}
				require.True(t, found, "%s: %+v", step.seen, all)
			}
			// The replica is not semi-synchronous, so the server has ceased to wait for it.
			sqlDo(t, "mysql", primary.DSN(), "SET GLOBAL "+c.plugin+"_timeout = 1", "CREATE TABLE t (n INT)", "SET GLOBAL "+c.plugin+"_timeout = 4294967295")
			_, all := examine(t, url, "--quarantine=never")
			requireFinding(t, all, lease.LevelFault, "replication", "1 replicas, "+c.plugin+"_status is OFF")
			_, all = examine(t, url)
			requireFinding(t, all, lease.LevelNote, "replication", "1 replicas, "+c.plugin+"_status is OFF")
			c.replica(t, primary)
			connected("2 replicas, commits wait for 1")
		})
	}
}

// A majority of a group acknowledges what is lent (TestGroupReplication in dbseq).
func TestDoctorOnAGroup(t *testing.T) {
	t.Parallel()
	s := testserver.NewGroup(t, 1, durable...).Nodes[0]
	url := mysqlURL(t, s.DSN())
	const seen = "group_replication_single_primary_mode is "
	_, all := examine(t, url)
	requireFinding(t, all, lease.LevelNote, "cluster", seen+"ON")
	_, all = examine(t, url, "--quarantine=never")
	requireFinding(t, all, lease.LevelNote, "cluster", seen+"ON")
	sqlDo(t, "mysql", s.DSN(), "SET GLOBAL group_replication_consistency = 'EVENTUAL'")
	_, all = examine(t, url, "--quarantine=never")
	requireFinding(t, all, lease.LevelFault, "cluster", "group_replication_consistency is EVENTUAL")
	sqlDo(t, "mysql", s.DSN(), "SELECT group_replication_switch_to_multi_primary_mode()")
	_, all = examine(t, url)
	requireFinding(t, all, lease.LevelNote, "cluster", seen+"OFF")
	_, all = examine(t, url, "--quarantine=never")
	requireFinding(t, all, lease.LevelFault, "cluster", seen+"OFF")
}

// Galera has lost writes that it had acknowledged (TestGalera in dbseq).
func TestDoctorOnGalera(t *testing.T) {
	t.Parallel()
	s := testserver.NewGalera(t, 1, durable...).Nodes[0]
	url := mysqlURL(t, s.DSN())
	_, all := examine(t, url)
	requireFinding(t, all, lease.LevelNote, "cluster", "Galera")
	_, all = examine(t, url, "--quarantine=never")
	requireFinding(t, all, lease.LevelFault, "cluster", "Galera")
	for _, option := range []string{"pc.ignore_sb", "pc.ignore_quorum"} {
		sqlDo(t, "mysql", s.DSN(), "SET GLOBAL wsrep_provider_options = '"+option+"=true'")
		_, all = examine(t, url)
		requireFinding(t, all, lease.LevelFault, "cluster", option+" = true")
		sqlDo(t, "mysql", s.DSN(), "SET GLOBAL wsrep_provider_options = '"+option+"=false'")
	}
}

func TestDoctorOnPostgresWithStandbys(t *testing.T) {
	t.Parallel()
	s := testserver.NewPostgres(t, "-c", "fsync=on", "-c", "full_page_writes=on")
	look := func(level, seen string, args ...string) {
		t.Helper()
		_, all := examine(t, s.DSN(), args...)
		if level != "" {
			requireFinding(t, all, level, "replication", seen)
		} else {
			require.False(t, slices.ContainsFunc(all, func(f lease.Finding) bool { return f.Check == "replication" }), all)
		}
	}
	look("", "")
	for range 2 { // the server counts a client that may stream as a standby
		standby, err := pgconn.Connect(t.Context(), s.DSN()+" replication=true")
		require.NoError(t, err)
		t.Cleanup(func() { _ = standby.Close(context.WithoutCancel(t.Context())) })
	}
	const never = "--quarantine=never"
	look(lease.LevelNote, "2 standbys, none of them synchronous")
	look(lease.LevelFault, "2 standbys, none of them synchronous", never)
	for _, c := range []struct{ names, commit, change, never, seen string }{
		{"a", "local", lease.LevelNote, lease.LevelFault, "synchronous_commit is local"},
		{"FIRST 2 (a, b)", "remote_write", "", lease.LevelNote, "synchronous_commit is remote_write"},
		{"a, b", "on", "", lease.LevelNote, "2 replicas, commits wait for 1"},
		{"ANY 1 (a, b)", "on", "", lease.LevelNote, "2 replicas, commits wait for 1"},
		{"any 2 (a, b)", "on", "", "", ""},
		{"2 (*)", "remote_apply", "", "", ""},
	} {
		sqlDo(t, "pgx", s.DSN(), "ALTER SYSTEM SET synchronous_standby_names = '"+c.names+"'", "ALTER SYSTEM SET synchronous_commit = "+c.commit, "SELECT pg_reload_conf()")
		require.Eventually(t, func() bool {
			db, err := sql.Open("pgx", s.DSN())
			require.NoError(t, err)
			defer db.Close()
			var names, commit string
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit')").Scan(&names, &commit))
			return names == c.names && commit == c.commit
		}, 30*time.Second, 10*time.Millisecond)
		look(c.change, c.seen)
		look(c.never, c.seen, never)
	}
}

// The sentinel commands that docs/engines.md lists are sufficient, and each of them is
// necessary.
func TestRightsOnSentinels(t *testing.T) {
	t.Parallel()
	_, rights := documented(t, "| Sentinel")
	set := testserver.NewSentinels(t, saved...)
	aclUser(t, set.Redis)
	open := func() *goredis.Client {
		return goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: testserver.SentinelName, SentinelAddrs: set.Addrs(), SentinelUsername: "watcher", SentinelPassword: "secret",
			Username: "orders", Password: "secret",
		})
	}
	sentinelRights(t, set, rights)
	client := open()
	everyVerb(t, client)
	require.NoError(t, client.Close())
	require.Empty(t, refusedBy(t, set))
	for _, r := range rights {
		sentinelRights(t, set, without(rights, r))
		client := open()
		_ = client.Ping(t.Context()).Err()
		require.Eventually(t, func() bool { return slices.Contains(refusedBy(t, set), r) }, 20*time.Second, 50*time.Millisecond, r)
		require.NoError(t, client.Close())
	}
}

func TestDoctorOnRedis(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server      []string
		prepare     func(t *testing.T, s *testserver.Server) string // another URL
		args        []string
		check, seen string
	}{
		"evicts":         {server: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, check: "eviction", seen: "allkeys-lru"},
		"syncs too late": {args: []string{"--quarantine=never"}, check: "persistence", seen: "appendfsync everysec"},
		"rewrites":       {server: []string{"--appendfsync", "always", "--no-appendfsync-on-rewrite", "yes"}, args: []string{"--quarantine=never"}, check: "persistence", seen: "no-appendfsync-on-rewrite yes"},
		"may not INFO, never": {args: []string{"--quarantine=never"}, prepare: func(t *testing.T, s *testserver.Server) string {
			do(t, s, "ACL", "SETUSER", "app", "on", ">word", "~*", "+@all", "-info")
			return "redis://app:word@" + s.Addr()
		}, check: "info", seen: "info"},
		"may not INFO": {prepare: func(t *testing.T, s *testserver.Server) string {
			do(t, s, "ACL", "SETUSER", "app", "on", ">word", "~*", "+@all", "-info")
			return "redis://app:word@" + s.Addr()
		}, check: "incarnation", seen: "run_id"},
		"may not write": {prepare: func(t *testing.T, s *testserver.Server) string {
			do(t, s, "ACL", "SETUSER", "app", "on", ">word", "~snowlease:*", "+@all", "-zadd")
			return "redis://app:word@" + s.Addr()
		}, check: "rights", seen: "ZADD: "},
		"other keys": {prepare: func(t *testing.T, s *testserver.Server) string {
			do(t, s, "ACL", "SETUSER", "app", "on", ">word", "~orders:*", "+@all")
			return "redis://app:word@" + s.Addr()
		}, check: "rights", seen: "key"},
		"clock": {prepare: func(_ *testing.T, s *testserver.Server) string {
			s.ShiftClock(-8*time.Hour - 30*time.Second)
			return ""
		}, check: "clock", seen: "-8h0m"},
		"no replicas":   {args: []string{"--wait-replicas=1"}, check: "replication", seen: "0 replicas, wait_replicas 1"},
		"wrong address": {args: []string{"--timeout=100ms"}, prepare: func(*testing.T, *testserver.Server) string { return "redis://127.0.0.1:1" }, check: "connect", seen: "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testserver.NewRedis(t, append(append([]string{}, kept...), c.server...)...)
			url := redisURL(s)
			if c.prepare != nil {
				if other := c.prepare(t, s); other != "" {
					url = other
				}
			}
			_, all := examine(t, url, append([]string{"--timeout=10s"}, c.args...)...)
			requireFinding(t, all, lease.LevelFault, c.check, c.seen)
		})
	}
	t.Run("keeps all", func(t *testing.T) {
		t.Parallel()
		_, all := examine(t, redisURL(testserver.NewRedis(t, append([]string{"--appendfsync", "always"}, kept...)...)), "--quarantine=never")
		requireFinding(t, all, lease.LevelOK, "persistence", "appendfsync always")
	})
	t.Run("may not CONFIG", func(t *testing.T) { // as the account of a service, which would see passwords
		t.Parallel()
		s := testserver.NewRedis(t, kept...)
		aclUser(t, []*testserver.Server{s})
		code, all := examine(t, "redis://orders:secret@"+s.Addr(), "--namespace=orders", "--quarantine=never")
		require.Zero(t, code)
		requireFinding(t, all, lease.LevelNote, "persistence", "appendfsync unknown")
	})
	t.Run("keeps nothing", func(t *testing.T) {
		t.Parallel()
		none := []string{"--appendonly", "no", "--save", ""}
		s := testserver.NewRedis(t, none...)
		code, all := examine(t, redisURL(s))
		require.Zero(t, code)
		requireFinding(t, all, lease.LevelNote, "persistence", `save ""`)
		testserver.NewRedisReplica(t, s, none...)
		code, all = examine(t, redisURL(s))
		require.Zero(t, code)
		requireFinding(t, all, lease.LevelNote, "persistence", `save ""`)
		_, all = examine(t, redisURL(s), "--quarantine=never")
		require.Contains(t, all, lease.Finding{
			Level: lease.LevelFault, Check: "persistence", Seen: `append-only file off, save ""`,
			Advice: "quarantine: never requires that no acknowledged write is lost: set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no; or set quarantine: on-change",
		})
	})
	t.Run("replica", func(t *testing.T) {
		t.Parallel()
		primary := testserver.NewRedis(t, saved...)
		replica := testserver.NewRedisReplica(t, primary, saved...)
		_, all := examine(t, redisURL(replica))
		var checks []string
		for _, f := range all {
			if f.Level == lease.LevelFault {
				checks = append(checks, f.Check)
			}
		}
		require.Equal(t, []string{"rights", "replication"}, checks)
		_, all = examine(t, redisURL(primary))
		requireFinding(t, all, lease.LevelNote, "replication", "1 replicas, wait_replicas 0")
		_, all = examine(t, redisURL(primary), "--wait-replicas=1")
		requireFinding(t, all, lease.LevelOK, "replication", "1 replicas, wait_replicas 1")
		_, all = examine(t, redisURL(primary), "--wait-replicas=2")
		requireFinding(t, all, lease.LevelFault, "replication", "1 replicas, wait_replicas 2")
		testserver.NewRedisReplica(t, primary, saved...)
		_, all = examine(t, redisURL(primary), "--wait-replicas=1")
		requireFinding(t, all, lease.LevelNote, "replication", "2 replicas, wait_replicas 1")
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := testserver.NewSentinels(t, saved...)
		_, all := examine(t, "redis://"+strings.Join(s.Addrs(), ",")+"?master="+testserver.SentinelName)
		requireFinding(t, all, lease.LevelOK, "rights", "")
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := testserver.NewCluster(t, saved...)
		_, all := examine(t, "redis://"+strings.Join(cluster.Addrs(), ",")+"?cluster=true", "--namespace=orders")
		requireFinding(t, all, lease.LevelOK, "rights", "")
		_, all = examine(t, redisURL(cluster.Nodes[0]), "--namespace=orders")
		found := false
		for _, f := range all {
			found = found || f.Level == lease.LevelFault && f.Check == "cluster"
		}
		require.True(t, found, all)
	})
}

func TestDoctorOnMySQL(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *testserver.Server{
		"mariadb": testserver.NewMariaDBPrimary, "mysql": testserver.NewMySQLPrimary,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, durable...)
			url := mysqlURL(t, s.DSN())
			initialize(t, url)
			reader := strings.Replace(url, "snowlease:snowlease@", "reader:word@", 1)
			type misconfiguration struct {
				name               string
				prepare, undo      []string
				url                string
				level, check, seen string
			}
			all := []misconfiguration{
				{"commits late", []string{"SET GLOBAL innodb_flush_log_at_trx_commit = 2"}, []string{"SET GLOBAL innodb_flush_log_at_trx_commit = 1"}, url, lease.LevelFault, "durability", "is 2"},
				{"syncs late", []string{"SET GLOBAL sync_binlog = 0"}, []string{"SET GLOBAL sync_binlog = 1"}, url, lease.LevelFault, "durability", "sync_binlog is 0"},
				{"read only", []string{"SET GLOBAL read_only = 1"}, []string{"SET GLOBAL read_only = 0"}, url, lease.LevelFault, "primary", "read_only is ON"},
			}
			transaction := "?tx_" // of MariaDB before 11.1
			if name == "mysql" {
				transaction = "?transaction_"
			}
			all = append(
				all,
				misconfiguration{"reads only", nil, nil, url + transaction + "read_only=1", lease.LevelFault, "primary", "INSERT on snowlease_slot"},
				misconfiguration{"reads uncommitted", nil, nil, url + transaction + "isolation=%27READ-UNCOMMITTED%27", lease.LevelFault, "isolation", "READ-UNCOMMITTED"},
			)
			if name == "mysql" {
				all = append(
					all,
					misconfiguration{"super read only", []string{"SET GLOBAL super_read_only = 1"}, []string{"SET GLOBAL read_only = 0"}, url, lease.LevelFault, "primary", "super_read_only is ON"},
					misconfiguration{"statements", []string{"SET GLOBAL binlog_format = 'STATEMENT'"}, []string{"SET GLOBAL binlog_format = 'ROW'"}, url, lease.LevelFault, "incarnation", "binlog_format is STATEMENT"},
				)
			}
			for _, c := range append(
				all,
				misconfiguration{"may not write", []string{"CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'word'", "GRANT SELECT, INSERT, DELETE ON test.* TO reader@'127.0.0.1'"}, nil, reader, lease.LevelFault, "rights", "UPDATE on snowlease_slot"},
				misconfiguration{"may not create", []string{"DROP TABLE snowlease_slot, snowlease_ticket, snowlease_meta"}, nil, reader, lease.LevelFault, "rights", "there is no table snowlease_slot"},
				misconfiguration{"old engine", []string{"CREATE TABLE snowlease_meta (ns VARCHAR(64) PRIMARY KEY) ENGINE=MyISAM"}, []string{"DROP TABLE snowlease_meta"}, url, lease.LevelFault, "engine", "snowlease_meta is MyISAM"},
			) {
				sqlDo(t, "mysql", s.DSN(), c.prepare...)
				_, all := examine(t, c.url)
				requireFinding(t, all, c.level, c.check, c.seen)
				sqlDo(t, "mysql", s.DSN(), c.undo...)
			}
			_, found := examine(t, url)
			requireFinding(t, found, lease.LevelOK, "rights", "the account may create it: true")
			requireFinding(t, found, lease.LevelOK, "primary", "read_only is OFF")
		})
	}
}

func TestDoctorOnPostgres(t *testing.T) {
	t.Parallel()
	s := testserver.NewPostgres(t, "-c", "fsync=on", "-c", "full_page_writes=on", "-c", "synchronous_commit=on")
	sqlDo(t, "pgx", s.DSN(), "CREATE ROLE app LOGIN PASSWORD 'word'", "GRANT ALL ON SCHEMA public TO app")
	app := strings.ReplaceAll(strings.Replace(s.DSN(), "user=snowlease", "user=app", 1), "password=snowlease", "password=word")
	require.NotEqual(t, s.DSN(), app)
	for _, c := range []struct {
		name        string
		prepare     []string
		undo        []string
		check, seen string
	}{
		{"commits late", []string{"ALTER ROLE app SET synchronous_commit = off"}, []string{"ALTER ROLE app RESET synchronous_commit"}, "durability", "synchronous_commit is off"},
		{"read only", []string{"ALTER ROLE app SET default_transaction_read_only = on"}, []string{"ALTER ROLE app RESET default_transaction_read_only"}, "primary", "default_transaction_read_only on"},
		{"no incarnation", []string{"REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC"}, []string{"GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC"}, "incarnation", "pg_control_system"},
		{"may not create", []string{"REVOKE ALL ON SCHEMA public FROM app", "GRANT USAGE ON SCHEMA public TO app"}, nil, "rights", "there is no table"},
	} {
		sqlDo(t, "pgx", s.DSN(), c.prepare...)
		_, all := examine(t, app)
		requireFinding(t, all, lease.LevelFault, c.check, c.seen)
		sqlDo(t, "pgx", s.DSN(), c.undo...)
	}
	initialize(t, s.DSN()) // the tables are another's
	_, all := examine(t, app, "--quarantine=never")
	requireFinding(t, all, lease.LevelFault, "rights", "SELECT on snowlease_slot")
	sqlDo(t, "pgx", s.DSN(), "ALTER TABLE snowlease_meta SET UNLOGGED")
	_, all = examine(t, s.DSN())
	requireFinding(t, all, lease.LevelFault, "engine", "snowlease_meta is UNLOGGED")
}
