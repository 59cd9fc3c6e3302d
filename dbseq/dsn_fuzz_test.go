package dbseq

import (
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
)

// secret is a password that occurs nowhere else.
const secret = "hunter2Geheim"

// FuzzNameShowsNoSecret: the name of the database never shows the password, whatever the
// password begins and ends with and however the DSN looks.
func FuzzNameShowsNoSecret(f *testing.F) {
	for _, s := range []struct{ before, after, rest string }{
		{"", "", "/app"},
		{"a@b", "c/d?e", "/app?parseTime=true"},
		{"/", "@", "/app?loc=Asia%2FTokyo"},
		{"tcp(", ")/x", "/app"},
		{"\t", "\nhost=", "/app?sslmode=disable"},
		{"' host=", "\\", " port=5432"},
		{"12/", "", "/app"},
		{"%zz", "?#", ""},
		{"a host=", "", ""},
	} {
		f.Add(s.before, s.after, s.rest)
	}
	f.Fuzz(func(t *testing.T, before, after, rest string) {
		if strings.Contains(rest, secret) {
			return
		}
		password := before + secret + after
		for _, c := range []struct {
			dialect Dialect
			dsn     string
		}{
			{MySQL, "app:" + password + "@tcp(db:3306)" + rest},
			{MySQL, "app:" + password + "@unix(/run/db.sock)" + rest},
			{MySQL, "app:" + password + "@" + rest},
			{Postgres, "postgres://app:" + password + "@db:5432" + rest},
			{Postgres, "postgresql://app:" + password + "@db" + rest},
			{Postgres, "postgres://app@db/app?password=" + password},
			{Postgres, "host=db user=app password='" + password + "' dbname=app " + rest},
		} {
			require.NotContains(t, dialects[c.dialect].nameOf(c.dsn), secret, c.dsn)
		}
		// Without quotes, a password ends at the blank, and a setting follows.
		if !strings.ContainsAny(strings.TrimLeft(before, " \t\n\r\v\f"), " \t\n\r\v\f") {
			dsn := "host=db user=app password=" + password + " dbname=app"
			require.NotContains(t, postgres.nameOf(dsn), secret, dsn)
		}
		dsn := "file:/data/app.db?_auth_pass=" + password
		require.NotContains(t, sqlite.nameOf(dsn), secret, dsn)
	})
}

// FuzzDSN: an extended DSN leads to the same database as the same user, and the name
// shows no password that the driver reads in it.
func FuzzDSN(f *testing.F) {
	for _, dsn := range []string{
		"app:secret@tcp(127.0.0.1:3306)/app?parseTime=true", "u:p?a/b@tcp(h:1)/app?autocommit=0", "u@/app?interpolateParams=false&timeout=2s",
		"u:p@tcp(h:1)/app?charset=gbk&loc=Asia%2FTokyo", "/", "u:p@unix(/s)/a?x", "u:p@tcp(h)/a?interpolateParams=true&",
		"postgres://app:secret@db:5432/app?sslmode=disable", "postgresql://h/a", "postgres://h/a#b", "host=db user=app password=secret dbname=app port=6432",
		"host=db password='a b' dbname=app", "host=db password = x", "password=\thost=x", "host=db password=", "",
	} {
		f.Add(dsn)
	}
	driver := stdlib.GetDefaultDriver()
	f.Fuzz(func(t *testing.T, dsn string) {
		if before, err := mysqldriver.ParseDSN(dsn); err == nil && dsn != "" {
			after, err := mysqldriver.ParseDSN(mysqlDSN(dsn))
			require.NoError(t, err, mysqlDSN(dsn))
			require.Equal(t, [5]string{before.Net, before.Addr, before.User, before.Passwd, before.DBName},
				[5]string{after.Net, after.Addr, after.User, after.Passwd, after.DBName})
			require.Equal(t, "1", after.Params["autocommit"])
		}
		if strings.Contains(dsn, "file") || strings.Contains(dsn, "cert") || strings.Contains(dsn, "key") || strings.Contains(dsn, "service") ||
			strings.HasSuffix(dsn, `\`) {
			return // pgx opens the files that settings name, and panics at a trailing backslash
		}
		if before, err := pgx.ParseConfig(dsn); err == nil {
			after, err := pgx.ParseConfig(postgresDSN(dsn, driver))
			require.NoError(t, err, postgresDSN(dsn, driver))
			require.Equal(t, [4]any{before.Host, before.Port, before.User, before.Password}, [4]any{after.Host, after.Port, after.User, after.Password})
			if !strings.Contains(dsn, "#") && !strings.Contains(dsn, "default_query_exec_mode") {
				require.Equal(t, before.Database, after.Database)
				require.Equal(t, pgx.QueryExecModeExec, after.DefaultQueryExecMode)
			}
			if p := before.Password; len(p) >= 6 && !strings.Contains(before.Host+before.Database, p) {
				require.NotContains(t, postgres.nameOf(dsn), p)
			}
		}
	})
}
