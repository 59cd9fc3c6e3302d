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
)

const never = "--durable"

// The advice names the settings as the server does.
func TestDoctorOnMySQLWithReplica(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		primary       func(testing.TB, ...string) *testserver.Server
		replica       func(testing.TB, *testserver.Server, ...string) *testserver.Server
		args          []string
		plugin, alone string
	}{
		"mariadb": {testserver.NewMariaDBPrimary, testserver.NewMariaDBReplica, durable, "rpl_semi_sync_master", "_wait_no_slave"},
		"mysql":   {testserver.NewMySQLPrimary, testserver.NewMySQLReplica, append([]string{"--plugin-load-add=semisync_source.so"}, durable...), "rpl_semi_sync_source", "_wait_no_replica"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := c.primary(t, c.args...)
			replica := in(t, "--store="+mysqlURL(t, c.replica(t, primary).DSN()))
			require.True(t, replica.examine("").has("fault durability: innodb_flush_method is nosync"))
			s := in(t, "--store="+mysqlURL(t, primary.DSN()))
			connected := func(want string) {
				t.Helper()
				require.Eventually(t, func() bool { return s.examine(never).has(want) }, 30*time.Second, 100*time.Millisecond, "the replica connects")
			}
			connected("fault replication: 1 replicas")
			for _, step := range []struct{ set, seen, advice string }{
				{c.plugin + "_enabled = OFF", "semi-synchronous replication is off", c.plugin + "_enabled=ON"},
				{c.plugin + "_enabled = ON, GLOBAL " + c.plugin + "_wait_point = 'AFTER_COMMIT'", c.plugin + "_wait_point is AFTER_COMMIT", c.plugin + "_wait_point=AFTER_SYNC"},
				{c.plugin + "_wait_point = 'AFTER_SYNC', GLOBAL " + c.plugin + c.alone + " = OFF", c.plugin + c.alone + " is OFF", c.plugin + c.alone + "=ON"},
				{c.plugin + c.alone + " = ON", c.plugin + "_timeout is 10000 ms", c.plugin + "_timeout of"},
			} {
				sqlDo(t, "mysql", primary.DSN(), "SET GLOBAL "+step.set)
				s.finds("", "note replication: 1 replicas, "+step.seen)
				all := s.examine(never)
				require.True(t, all.has("fault replication: 1 replicas, "+step.seen), all)
				require.True(t, all.has("fault replication: "+step.advice), all)
			}
			// The replica is not semi-synchronous, so the server has ceased to wait for it.
			sqlDo(t, "mysql", primary.DSN(), "SET GLOBAL "+c.plugin+"_timeout = 1", "CREATE TABLE t (n INT)", "SET GLOBAL "+c.plugin+"_timeout = 4294967295")
			s.finds(never, "fault replication: 1 replicas, "+c.plugin+"_status is OFF")
			s.finds("", "note replication: 1 replicas, "+c.plugin+"_status is OFF")
			c.replica(t, primary)
			connected("note replication: 2 replicas, commits wait for 1")
		})
	}
}

// A majority of a group acknowledges what is lent (TestGroupReplication in dbseq).
func TestDoctorOnAGroup(t *testing.T) {
	t.Parallel()
	server := testserver.NewGroup(t, 1, durable...).Nodes[0]
	s := in(t, "--store="+mysqlURL(t, server.DSN()))
	const seen = " cluster: group_replication_single_primary_mode is "
	s.finds("", "note"+seen+"ON")
	s.finds(never, "note"+seen+"ON")
	sqlDo(t, "mysql", server.DSN(), "SET GLOBAL group_replication_consistency = 'EVENTUAL'")
	s.finds(never, "fault cluster: group_replication_consistency is EVENTUAL")
	sqlDo(t, "mysql", server.DSN(), "SELECT group_replication_switch_to_multi_primary_mode()")
	s.finds("", "note"+seen+"OFF")
	s.finds(never, "fault"+seen+"OFF")
}

// Galera has lost writes that it had acknowledged (TestGalera in dbseq).
func TestDoctorOnGalera(t *testing.T) {
	t.Parallel()
	server := testserver.NewGalera(t, 1, durable...).Nodes[0]
	s := in(t, "--store="+mysqlURL(t, server.DSN()))
	s.finds("", "note cluster: Galera")
	s.finds(never, "fault cluster: Galera")
	for _, option := range []string{"pc.ignore_sb", "pc.ignore_quorum"} {
		sqlDo(t, "mysql", server.DSN(), "SET GLOBAL wsrep_provider_options = '"+option+"=true'")
		s.finds("", "fault cluster: "+option+" = true")
		sqlDo(t, "mysql", server.DSN(), "SET GLOBAL wsrep_provider_options = '"+option+"=false'")
	}
}

func TestDoctorOnPostgresWithStandbys(t *testing.T) {
	t.Parallel()
	server := testserver.NewPostgres(t, durablePostgres[:4]...)
	s := in(t, "--store="+server.DSN())
	look := func(arguments, want string) {
		t.Helper()
		if want != "" {
			s.finds(arguments, want)
			return
		}
		require.NotContains(t, strings.Join(s.examine(arguments), "\n"), " replication: ")
	}
	look("", "")
	for range 2 { // the server counts a client that may stream as a standby
		standby, err := pgconn.Connect(t.Context(), server.DSN()+" replication=true")
		require.NoError(t, err)
		t.Cleanup(func() { _ = standby.Close(context.WithoutCancel(t.Context())) })
	}
	look("", "note replication: 2 standbys, none of them synchronous")
	look(never, "fault replication: 2 standbys, none of them synchronous")
	for _, c := range []struct{ names, commit, change, never string }{
		{"a", "local", "note replication: synchronous_commit is local", "fault replication: synchronous_commit is local"},
		{"FIRST 2 (a, b)", "remote_write", "", "note replication: synchronous_commit is remote_write"},
		{"a, b", "on", "", "note replication: 2 replicas, commits wait for 1"},
		{"ANY 1 (a, b)", "on", "", "note replication: 2 replicas, commits wait for 1"},
		{"any 2 (a, b)", "on", "", ""},
		{"2 (*)", "remote_apply", "", ""},
	} {
		sqlDo(t, "pgx", server.DSN(), "ALTER SYSTEM SET synchronous_standby_names = '"+c.names+"'", "ALTER SYSTEM SET synchronous_commit = "+c.commit, "SELECT pg_reload_conf()")
		require.Eventually(t, func() bool {
			db, err := sql.Open("pgx", server.DSN())
			require.NoError(t, err)
			defer db.Close()
			var names, commit string
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit')").Scan(&names, &commit))
			return names == c.names && commit == c.commit
		}, 30*time.Second, 10*time.Millisecond)
		look("", c.change)
		look(never, c.never)
	}
}

func TestDoctorOnRedis(t *testing.T) {
	t.Parallel()
	always, none := []string{"--appendonly", "yes", "--appendfsync", "always"}, []string{"--appendonly", "no", "--save", ""}
	limited := func(t *testing.T, s *testserver.Server, rights ...any) string {
		do(t, s, append([]any{"ACL", "SETUSER", "app", "on", ">word"}, rights...)...)
		return "redis://app:word@" + s.Addr()
	}
	for name, c := range map[string]struct {
		server          []string
		arguments, want string
		prepare         func(t *testing.T, s *testserver.Server) (url string)
	}{
		"keeps all":            {server: always, arguments: never, want: "ok persistence: appendfsync always"},
		"evicts":               {server: append([]string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, kept...), want: "fault eviction: allkeys-lru"},
		"syncs too late":       {server: kept, arguments: never, want: "fault persistence: appendfsync everysec"},
		"rewrites":             {server: append([]string{"--no-appendfsync-on-rewrite", "yes"}, always...), arguments: never, want: "fault persistence: no-appendfsync-on-rewrite yes"},
		"no replicas":          {server: kept, arguments: "--wait-replicas=1", want: "fault replication: 0 replicas, wait_replicas 1"},
		"keeps nothing":        {server: none, want: `note persistence: save ""`},
		"keeps nothing, never": {server: none, arguments: never, want: `fault persistence: append-only file off, save "" -> durable: true requires that no acknowledged write is lost: set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no; or set durable: false`},
		"copies nothing": {server: none, want: `note persistence: save ""`, prepare: func(t *testing.T, s *testserver.Server) string {
			testserver.NewRedisReplica(t, s, none...)
			return redisURL(s)
		}},
		"may not INFO, never": {server: kept, arguments: never, want: "fault info: info", prepare: func(t *testing.T, s *testserver.Server) string {
			return limited(t, s, "~*", "+@all", "-info")
		}},
		"may not INFO": {server: kept, want: "fault incarnation: run_id", prepare: func(t *testing.T, s *testserver.Server) string {
			return limited(t, s, "~*", "+@all", "-info")
		}},
		"may not write": {server: kept, want: "fault rights: ZADD: ", prepare: func(t *testing.T, s *testserver.Server) string {
			return limited(t, s, "~snowlease:*", "+@all", "-zadd")
		}},
		"other keys": {server: kept, want: "fault rights: key", prepare: func(t *testing.T, s *testserver.Server) string {
			return limited(t, s, "~orders:*", "+@all")
		}},
		// As the account of a service, which would see passwords.
		"may not CONFIG": {server: kept, arguments: "--namespace=orders " + never, want: "note persistence: appendfsync unknown", prepare: func(t *testing.T, s *testserver.Server) string {
			aclUser(t, []*testserver.Server{s})
			return "redis://orders:secret@" + s.Addr()
		}},
		"clock": {server: kept, want: "fault clock: -8h0m", prepare: func(_ *testing.T, s *testserver.Server) string {
			s.ShiftClock(-8*time.Hour - 30*time.Second)
			return redisURL(s)
		}},
		"wrong address": {arguments: "--timeout=100ms", want: "fault connect: 127.0.0.1:1", prepare: func(*testing.T, *testserver.Server) string { return "redis://127.0.0.1:1" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testserver.NewRedis(t, c.server...)
			url := redisURL(s)
			if c.prepare != nil {
				url = c.prepare(t, s)
			}
			in(t, "--store="+url).finds(c.arguments, c.want)
		})
	}
	t.Run("replica", func(t *testing.T) {
		t.Parallel()
		primary := testserver.NewRedis(t, saved...)
		replica := in(t, "--store="+redisURL(testserver.NewRedisReplica(t, primary, saved...))).examine("")
		require.True(t, replica.has("fault rights") && replica.has("fault replication"), replica)
		require.Equal(t, 2, strings.Count("\n"+strings.Join(replica, "\n"), "\nfault "), replica)
		s := in(t, "--store="+redisURL(primary))
		s.finds("", "note replication: 1 replicas, wait_replicas 0")
		s.finds("--wait-replicas=1", "ok replication: 1 replicas, wait_replicas 1")
		s.finds("--wait-replicas=2", "fault replication: 1 replicas, wait_replicas 2")
		testserver.NewRedisReplica(t, primary, saved...)
		s.finds("--wait-replicas=1", "note replication: 2 replicas, wait_replicas 1")
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		in(t, "--store=redis://"+strings.Join(testserver.NewSentinels(t, saved...).Addrs(), ",")+"?master="+testserver.SentinelName).finds("", "ok rights")
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := testserver.NewCluster(t, saved...)
		in(t, "--store=redis://"+strings.Join(cluster.Addrs(), ",")+"?cluster=true").finds("--namespace=orders", "ok rights")
		require.True(t, in(t, "--store="+redisURL(cluster.Nodes[0])).examine("--namespace=orders").has("fault cluster"))
	})
}

func TestDoctorOnMySQL(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *testserver.Server{
		"mariadb": testserver.NewMariaDBPrimary, "mysql": testserver.NewMySQLPrimary,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, durable...)
			url := mysqlURL(t, server.DSN())
			newScene(t, url).ok("init --yes")
			reader := strings.Replace(url, "snowlease:snowlease@", "reader:word@", 1)
			type misconfiguration struct{ prepare, undo, url, want string }
			variable := map[string]string{"mariadb": "?tx_", "mysql": "?transaction_"}[name] // of MariaDB before 11.1
			all := []misconfiguration{
				{"SET GLOBAL innodb_flush_log_at_trx_commit = 2", "SET GLOBAL innodb_flush_log_at_trx_commit = 1", url, "fault durability: is 2"},
				{"SET GLOBAL sync_binlog = 0", "SET GLOBAL sync_binlog = 1", url, "fault durability: sync_binlog is 0"},
				{"SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", url, "fault primary: read_only is ON"},
				{"", "", url + variable + "read_only=1", "fault primary: INSERT on snowlease_slot"},
				{"", "", url + variable + "isolation=%27READ-UNCOMMITTED%27", "fault isolation: READ-UNCOMMITTED"},
				{"GRANT SELECT, INSERT, DELETE ON test.* TO reader@'127.0.0.1'", "", reader, "fault rights: UPDATE on snowlease_slot"},
				{"DROP TABLE snowlease_slot, snowlease_ticket, snowlease_meta", "", reader, "fault rights: there is no table snowlease_slot"},
				{"CREATE TABLE snowlease_meta (ns VARCHAR(64) PRIMARY KEY) ENGINE=MyISAM", "DROP TABLE snowlease_meta", url, "fault engine: snowlease_meta is MyISAM"},
			}
			if name == "mysql" {
				all = append([]misconfiguration{
					{"SET GLOBAL super_read_only = 1", "SET GLOBAL read_only = 0", url, "fault primary: super_read_only is ON"},
					{"SET GLOBAL binlog_format = 'STATEMENT'", "SET GLOBAL binlog_format = 'ROW'", url, "fault incarnation: binlog_format is STATEMENT"},
				}, all...)
			}
			sqlDo(t, "mysql", server.DSN(), "CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'word'")
			for _, c := range all {
				if c.prepare != "" {
					sqlDo(t, "mysql", server.DSN(), c.prepare)
				}
				in(t, "--store="+c.url).finds("", c.want)
				if c.undo != "" {
					sqlDo(t, "mysql", server.DSN(), c.undo)
				}
			}
			require.True(t, in(t, "--store="+url).finds("", "ok rights: the account may create it: true").has("ok primary: read_only is OFF"))
		})
	}
}

func TestDoctorOnPostgres(t *testing.T) {
	t.Parallel()
	server := testserver.NewPostgres(t, durablePostgres...)
	sqlDo(t, "pgx", server.DSN(), "CREATE ROLE app LOGIN PASSWORD 'word'", "GRANT ALL ON SCHEMA public TO app")
	dsn := strings.ReplaceAll(strings.Replace(server.DSN(), "user=snowlease", "user=app", 1), "password=snowlease", "password=word")
	require.NotEqual(t, server.DSN(), dsn)
	app := in(t, "--store="+dsn)
	for _, c := range []struct{ prepare, undo, want string }{
		{"ALTER ROLE app SET synchronous_commit = off", "ALTER ROLE app RESET synchronous_commit", "fault durability: synchronous_commit is off"},
		{"ALTER ROLE app SET default_transaction_read_only = on", "ALTER ROLE app RESET default_transaction_read_only", "fault primary: default_transaction_read_only is on"},
		{"REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC", "GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC", "fault incarnation: pg_control_system"},
		{"REVOKE ALL ON SCHEMA public FROM app", "GRANT USAGE ON SCHEMA public TO app", "fault rights: there is no table"},
	} {
		sqlDo(t, "pgx", server.DSN(), c.prepare)
		app.finds("", c.want)
		sqlDo(t, "pgx", server.DSN(), c.undo)
	}
	owner := newScene(t, server.DSN())
	owner.ok("init --yes") // the tables are another's
	app.finds(never, "fault rights: SELECT on snowlease_slot")
	sqlDo(t, "pgx", server.DSN(), "ALTER TABLE snowlease_meta SET UNLOGGED")
	owner.numbers.finds("", "fault engine: snowlease_meta is UNLOGGED")
}

// A proxy before one server changes nothing that the doctor finds. It does find servers
// that answer in turn.
func TestDoctorBehindProxies(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]struct {
		start func(*testing.T) *testserver.Server
		url   func(*testing.T, *testserver.Server) string
	}{
		"redis": {
			func(t *testing.T) *testserver.Server { return testserver.NewRedis(t, kept...) },
			func(_ *testing.T, s *testserver.Server) string { return redisURL(s) },
		},
		"mysql": {
			func(t *testing.T) *testserver.Server { return testserver.NewMariaDB(t, durable...) },
			func(t *testing.T, s *testserver.Server) string { return mysqlURL(t, s.DSN()) },
		},
		"postgres": {
			func(t *testing.T) *testserver.Server { return testserver.NewPostgres(t, durablePostgres[:4]...) },
			func(_ *testing.T, s *testserver.Server) string { return s.DSN() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := []*testserver.Server{store.start(t), store.start(t)}
			newScene(t, store.url(t, servers[0])).ok("init --yes")
			proxies := []*testserver.Server{testserver.NewHAProxy(t, servers)}
			if name == "postgres" {
				for _, mode := range []string{"transaction", "session", "statement"} {
					proxies = append(proxies, testserver.NewPgBouncer(t, servers[0], "pool_mode = "+mode))
				}
			}
			for _, proxy := range proxies {
				s := newScene(t, store.url(t, proxy))
				s.finds("--replicas=16", "ok incarnation: the same on 4 connections")
				s.ok("doctor --replicas=16")
			}
			turns := newScene(t, store.url(t, testserver.NewHAProxy(t, servers, "option allbackups")))
			turns.numbers.finds("", "fault incarnation: 4 connections reached 2 different servers")
		})
	}
}

// The sentinel commands that docs/engines.md lists are sufficient, and each of them is
// necessary.
func TestRightsOnSentinels(t *testing.T) {
	t.Parallel()
	_, rights := documented(t, "| Sentinel")
	set := testserver.NewSentinels(t, saved...)
	aclUser(t, set.Redis)
	open := func(rights []string) *goredis.Client {
		for _, s := range set.Sentinels {
			do(t, s, commandOf("ACL SETUSER watcher reset on >secret &*", plus(rights)...)...)
			do(t, s, "ACL", "LOG", "RESET")
		}
		return goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: testserver.SentinelName, SentinelAddrs: set.Addrs(), SentinelUsername: "watcher", SentinelPassword: "secret",
			Username: "orders", Password: "secret",
		})
	}
	client := open(rights)
	everyVerb(t, client)
	require.NoError(t, client.Close())
	require.Empty(t, refusedBy(t, set))
	for _, r := range rights {
		client := open(without(rights, r))
		_ = client.Ping(t.Context()).Err()
		require.Eventually(t, func() bool { return slices.Contains(refusedBy(t, set), r) }, 20*time.Second, 50*time.Millisecond, r)
		require.NoError(t, client.Close())
	}
}

func refusedBy(t *testing.T, set *testserver.Sentinels) (all []string) {
	t.Helper()
	for _, s := range set.Sentinels {
		c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
		log, err := c.ACLLog(t.Context(), 100).Result()
		require.NoError(t, err)
		require.NoError(t, c.Close())
		for _, entry := range log {
			all = append(all, entry.Object)
		}
	}
	return without(all, "client|setinfo", "client|maint_notifications")
}
