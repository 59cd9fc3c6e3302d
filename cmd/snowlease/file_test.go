package main

import (
	"os"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// Every command takes the store from db or redis of config.yaml. --store and the environment
// win.
func TestStoreFromTheConfigFile(t *testing.T) {
	t.Chdir(t.TempDir())
	srv := miniredis.RunT(t)
	srv.RequireUserAuth("app", "s3cret")
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	fine := func(want string, args ...string) {
		t.Helper()
		code, out, errs := call(t, "", args...)
		require.Zero(t, code, out+errs)
		require.Contains(t, out, want)
		require.NotContains(t, out+errs, "s3cret")
	}
	refused := func(want string, args ...string) {
		t.Helper()
		code, out, errs := call(t, "", args...)
		require.NotZero(t, code, out)
		require.Contains(t, out+errs, want)
		require.NotContains(t, out+errs, "s3cret")
	}
	// miniredis does not tell its run_id, so quarantine is read from the file too.
	ids := "idworker: {namespace: orders, preset: wide, store: {quarantine: never}}\n"
	onRedis := "redis: {addrs: [" + srv.Addr() + "], username: app, password: s3cret, timeout: 1s}\n"
	write(configFile, ids+onRedis)
	fine(`created namespace "orders" at redis `+srv.Addr()+` db 0, which is now pinned to layout={epoch=1577808000000 unit=1ms bits=41/10/0/12}`, "init")
	refused("ok     config         config.yaml", "doctor") // miniredis has no append-only file
	fine("0 of 1024 worker ids are lent", "workers", "--namespace=orders")
	fine("created 1", "segment", "create", "--name=bills")
	fine("goes on above 7", "segment", "resume", "--name=bills", "--above=7")
	fine("", "retire", "--namespace=orders", "--yes", "--reason=moved")
	refused("--namespace is empty", "workers")
	refused("--store is empty", "workers", "--namespace=bills")

	write("app.yaml", "app:\n  ids: {namespace: bills}\n  db: {dsn: app.db, max_open: 3}\n"+onRedis)
	app := []string{"--config=app.yaml", "--key=app.ids"}
	fine(`created namespace "bills" at sqlite app.db`, append([]string{"init"}, app...)...)
	fine("of 32 worker ids are lent", append([]string{"workers", "--namespace=bills"}, app...)...)
	refused("differ", append([]string{"workers", "--namespace=orders"}, app...)...)
	refused("no such file", "workers", "--namespace=orders", "--config=none.yaml")

	// A flag and the environment win.
	fine(`at sqlite flag.db`, "init", "--store=sqlite:flag.db")
	t.Setenv(envStore, "sqlite:env.db")
	fine(`at sqlite env.db`, "init")
	fine(`at sqlite flag2.db`, "init", "--store=sqlite:flag2.db")
	t.Setenv(envStore, "")

	for text, want := range map[string]string{
		ids + onRedis + "db: {dsn: app.db}\n":          "--store is empty, and config.yaml has both db and redis: name the one to use with --store or " + envStore,
		ids + "redis: {addrs: [], password: s3cret}\n": "config.yaml has neither db nor redis",
		ids: "config.yaml has neither db nor redis",
		ids + "redis: {addrs: ['app:s3cret@h:1']}\n":                       "config.yaml: providers: redis.addrs[0] is a URL",
		ids + "redis: {addrs: [h:1], timeout: s3cret}\n":                   "config.yaml: the values of redis are not of the types",
		ids + "db: s3cret\n":                                               "config.yaml: the values of db are not of the types",
		ids + "db: {driver: oracle, dsn: 'oracle://app:s3cret@h/db'}\n":    "config.yaml: db.driver is none of mysql, postgres and sqlite",
		ids + "db: {driver: postgres, dsn: 'postgres://app:s3cret/x@h'}\n": "config.yaml: the DSN is refused",
		ids + "db: {dsn: 'app:s3cret@tcp(127.0.0.1:1)/app'}\n":             "mysql 127.0.0.1:1/app: cannot connect",
		ids + "db: {dsn: 'postgres://app:s3cret@127.0.0.1:1/app'}\n":       "TLS in config.yaml",
	} {
		write(configFile, text)
		refused(want, "workers", "--namespace=orders", "--timeout=5s")
	}
}
