package sqlredis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/providers/redis"
)

func TestParseStore(t *testing.T) {
	t.Parallel()
	onRedis := func(c redis.Config) place { return place{Redis: c} }
	for text, want := range map[string]place{
		"redis://h":                     onRedis(redis.Config{Addrs: []string{"h:6379"}}),
		"redis://[::1]:7/2":             onRedis(redis.Config{Addrs: []string{"[::1]:7"}, DB: 2}),
		"rediss://u:p%40w@h:1/0":        onRedis(redis.Config{Addrs: []string{"h:1"}, Username: "u", Password: "p@w", TLS: true}),
		"redis://:w@a,b:2?cluster=true": onRedis(redis.Config{Addrs: []string{"a:6379", "b:2"}, Password: "w", Cluster: true}),
		"redis://a:26379/?master=m":     onRedis(redis.Config{Addrs: []string{"a:26379"}, Master: "m"}),
		"redis://a/?master=m&sentinel_password=x&sentinel_username=y": onRedis(redis.Config{Addrs: []string{"a:6379"}, Master: "m", SentinelUsername: "y", SentinelPassword: "x"}),
		"rediss://h/?ca_file=a&cert_file=b&key_file=c":                onRedis(redis.Config{Addrs: []string{"h:6379"}, TLS: true, CAFile: "a", CertFile: "b", KeyFile: "c"}),
		"mysql://u:p%2Fw@h/name?tls=true":                             database("mysql", "u:p/w@tcp(h:3306)/name?tls=true"),
		"mariadb://u@h:3/name":                                        database("mysql", "u:@tcp(h:3)/name?"),
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
		"s3cret":                    "--store is unknown",
		"etcd://u:s3cret@h":         "go run github.com/snowlease/snowlease/cmd/snowlease-etcd@latest",
		"http://s3cret@h":           "--store is unknown",
		"redis://u:s3cret/x@h":      `there is an "@" after the host`,
		"redis://u:s3cret%zz@h":     "not percent-encoded",
		"redis://h/s3cret":          "the database is not a number",
		"redis://h/?s3cret=1":       "unknown setting: choose ca_file, cert_file, cluster, key_file, master",
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
