package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-sql-driver/mysql"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers/redis"
)

func TestParseStore(t *testing.T) {
	t.Parallel()
	onRedis := func(c redis.Config) target { return target{Redis: c} }
	for text, want := range map[string]target{
		"redis://h":                     onRedis(redis.Config{Addrs: []string{"h:6379"}}),
		"redis://[::1]:7/2":             onRedis(redis.Config{Addrs: []string{"[::1]:7"}, DB: 2}),
		"rediss://u:p%40w@h:1/0":        onRedis(redis.Config{Addrs: []string{"h:1"}, Username: "u", Password: "p@w", TLS: true}),
		"redis://:w@a,b:2?cluster=true": onRedis(redis.Config{Addrs: []string{"a:6379", "b:2"}, Password: "w", Cluster: true}),
		"redis://a:26379/?master=m":     onRedis(redis.Config{Addrs: []string{"a:26379"}, Master: "m"}),
		"redis://a/?master=m&sentinel_password=x&sentinel_username=y": onRedis(redis.Config{Addrs: []string{"a:6379"}, Master: "m", SentinelUsername: "y", SentinelPassword: "x"}),
		"mysql://u:p%2Fw@h/name?tls=true":                             database("mysql", "u:p/w@tcp(h:3306)/name?tls=true"),
		"mariadb://u@h:3/name":                                        database("mysql", "u@tcp(h:3)/name"),
		"u:w@tcp(h)/name":                                             database("mysql", "u:w@tcp(h)/name"),
		"postgres://u:w@h/name?sslmode=disable":                       database("pgx", "postgres://u:w@h/name?sslmode=disable"),
		"host=h dbname=name":                                          database("pgx", "host=h dbname=name"),
		"sqlite:a/b.db":                                               database("sqlite", "a/b.db"),
		"sqlite:///a/b.db":                                            database("sqlite", "/a/b.db"),
		"file:a.db?mode=ro":                                           database("sqlite", "file:a.db?mode=ro"),
	} {
		got, err := parseStore(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":                          "--store is empty",
		"s3cret":                    "--store is unknown",
		"http://s3cret@h":           "--store is unknown",
		"redis://u:s3cret/x@h":      `there is an "@" after the host`,
		"redis://u:s3cret%zz@h":     "not percent-encoded",
		"redis://h/s3cret":          "the database is not a number",
		"redis://h/?s3cret=1":       "unknown Redis setting",
		"redis://h/?cluster=s3cret": "neither true nor false",
		"redis://h/?a=%zz":          "not key=value",
		"mysql://u:s3cret@a,b/name": "exactly one MySQL host",
		"mysql://u:s3cret?x@h/name": `there is an "@" after the host`,
		"redis://user:s3cret":       "not host or host:port",
		"redis://user:s3cret/0":     "not host or host:port",
		"redis://user:a:s3cret":     "not host or host:port",
		"redis://h,user:s3cret":     "not host or host:port",
		"mysql://root:s3cret/db":    "not host or host:port",
	} {
		_, err := parseStore(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

// onEachStore runs f with the URL of each kind of store.
func onEachStore(t *testing.T, f func(t *testing.T, store, namespace string, more ...string)) {
	t.Helper()
	for name, store := range map[string]func(*testing.T) string{
		"miniredis": func(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() },
		"redis":     func(t *testing.T) string { return "redis://" + testserver.Redis(t) },
		"sqlite":    sqliteURL,
		"mysql":     func(t *testing.T) string { return mysqlURL(t, testserver.MariaDB(t)) },
		"postgres":  func(t *testing.T) string { return testserver.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var more []string
			if name == "miniredis" { // it does not tell its run_id
				more = []string{"--quarantine=never"}
			}
			f(t, store(t), "cmd-"+strings.ToLower(t.Name()[4:5])+"-"+name, more...)
		})
	}
}

// sqliteURL returns the URL of an empty file.
func sqliteURL(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return "sqlite:" + path
}

// Commands that only read do not create a file.
func TestNoFileIsCreated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	for _, verb := range []string{"workers", "doctor"} {
		code, out, errs := call(t, "", verb, "--namespace=a", "--store=sqlite:"+path)
		require.NotZero(t, code)
		require.Contains(t, out+errs, "no such file")
	}
	require.NoFileExists(t, path)
}

// No error about a malformed or misplaced store shows its password.
func TestNoPasswordIsPrinted(t *testing.T) {
	const secret = "s3cretWord"
	for _, store := range []string{
		"redis://user:" + secret, "redis://user:a:" + secret, "redis://user:" + secret + "/0", "redis://user:" + secret + "@127.0.0.1:1",
		"mysql://root:" + secret + "/db", "mysql://root:" + secret + "@127.0.0.1:1/db", "root:" + secret + "@tcp(127.0.0.1:1/db", "root:" + secret + "@tcp(127.0.0.1:1)/db",
		"postgres://root:" + secret + "/db", "postgres://root:" + secret + "@127.0.0.1:1/db", "host=127.0.0.1 port=1 password=" + secret, "host=127.0.0.1 port=x password=" + secret,
		"sqlite:root:" + secret + "@127.0.0.1/db", "sqlite://root:" + secret + "@h/db", "oracle://root:" + secret + "@h/db", "redis://[root:" + secret + "]", "redis://[root:" + secret + "]:1", "file:root:" + secret + "@h/db", "sqlite:user=u password=" + secret, "user=u password=" + secret,
		"root:" + secret + "@h/db",
	} {
		t.Run(strings.ReplaceAll(store, secret, "PW"), func(t *testing.T) {
			t.Setenv(envStore, store)
			for _, args := range [][]string{
				{"workers", "--namespace=a", "--timeout=100ms"},
				{"doctor", "--namespace=a", "--timeout=100ms"},
				{"workers", store},
				{"workers", "-store=" + store},
				{"workers", "--stores=" + store},
				{"workers", "---store=" + store},
				{store},
				{"config", store},
				{"segment", store},
				{"segment", "list", store},
			} {
				code, out, errs := call(t, "", args...)
				require.NotZero(t, code, args)
				require.NotContains(t, out+errs, secret, args)
			}
		})
	}
	files, err := filepath.Glob("*" + secret + "*")
	require.NoError(t, err)
	require.Empty(t, files)
}

// FuzzParseStore checks that no error contains a password.
func FuzzParseStore(f *testing.F) {
	for _, s := range []string{"redis://u:%s@h:1/0?cluster=1", "rediss://%s", "mysql://u:%s@h/n?a=b", "u:%s@tcp(h)/n", "postgres://u:%s@h", "redis://h/%s", "sqlite:%s", "%s", "redis://u:%%zz%s@h"} {
		before, after, _ := strings.Cut(s, "%s")
		f.Add(before, after)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "S3CRETWORD"
		c, err := parseStore(before + secret + after)
		if err != nil {
			require.NotContains(t, err.Error(), secret)
			return
		}
		require.NotEqual(t, c.Redis.IsZero(), c.Driver == "", "one of both")
		require.Equal(t, c.Driver == "", c.DSN == "")
		c.Redis.Addrs, c.Redis.Master, c.Redis.Username, c.Redis.SentinelUsername = nil, "", "", ""
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", c, c, c), secret)
	})
}

func mysqlURL(t *testing.T, dsn string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	return "mysql://" + c.User + ":" + c.Passwd + "@" + c.Addr + "/" + c.DBName
}

// openCenter returns an application's center on the store.
func openCenter(t *testing.T, store string, more ...string) center {
	t.Helper()
	f := storeFlags{store: store, quarantine: lease.QuarantineOnChange}
	if len(more) > 0 {
		f.quarantine = lease.QuarantineNever
	}
	require.NoError(t, f.complete(&cobra.Command{}, true))
	o, err := f.open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.close()) })
	return o
}

// lend borrows a worker id with the default configuration.
func lend(t *testing.T, c center, namespace string) lease.Grant {
	t.Helper()
	r, err := idworker.Config{Namespace: namespace, Holder: "orders@host:\x1b[1m7"}.Request()
	require.NoError(t, err)
	g, err := c.Acquire(t.Context(), r)
	require.NoError(t, err)
	return g
}
