package sqlconn

import (
	"database/sql/driver"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
)

func TestNameShowsNoSecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect, dsn, want string
	}{
		{"mysql", "app:secret@tcp(127.0.0.1:3306)/app?parseTime=true", "mysql 127.0.0.1:3306/app"},
		{"mysql", "app:se@cr/e?t@tcp(db.example:3306)/app", "mysql db.example:3306/app"},
		{"mysql", "secret@unix(/run/mysqld/mysqld.sock)/app", "mysql /run/mysqld/mysqld.sock/app"},
		{"mysql", "app:secret@/app", "mysql"},
		{"mysql", "app:secret@tcp(h:1)/app?loc=Asia/Tokyo", "mysql h:1/app"},
		{"mysql", "", "mysql"},
		{"postgres", "postgres://app:secret@db:5432/app?password=secret", "postgres db:5432/app"},
		{"postgres", "postgres://app:sec%ret@db:5432/app", "postgres"},
		{"postgres", "host=db user=app password=secret dbname=app port=6432", "postgres db:6432/app"},
		{"postgres", "host=db password='a host=secret' dbname=app", "postgres"},
		{"postgres", "host=db password = host=secret", "postgres"},
		{"postgres", "user=app password=secret", "postgres"},
		{"postgres", "postgres://app@db/app&password=secret", "postgres db"},
		{"postgres", "postgres://app@db:1,db2:2/app-$.1", "postgres db:1,db2:2/app-$.1"},
		{"postgres", "postgres://db/app user=app password=secret", "postgres db"},
		{"postgres", "host=db dbname=app;password=secret", "postgres db:5432"},
		{"postgres", "postgres://app:secret@db/app?search_path=shop,public&password=secret", "postgres db/app schema shop,public"},
		{"postgres", "host=db dbname=app search_path=shop", "postgres db:5432/app schema shop"},
		{"postgres", "host=db dbname=app search_path=shop;password=secret", "postgres db:5432/app"},
		{"postgres", "host=db;password=secret dbname=app", "postgres"},
		{"sqlite", "file:/data/app.db?_auth_pass=secret", "sqlite /data/app.db"},
		{"sqlite", "", "sqlite"},
	} {
		require.Equal(t, c.want, dialects[c.dialect].nameOf(c.dsn), c.dsn)
	}
}

func TestMySQLDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"u:p@tcp(h:1)/app": "u:p@tcp(h:1)/app?autocommit=1&interpolateParams=true",
		"u:p?a/b@tcp(h:1)/app?parseTime=true&autocommit=0":         "u:p?a/b@tcp(h:1)/app?autocommit=1&interpolateParams=true&parseTime=true",
		"u@/app?interpolateParams=false&timeout=2s":                "u@/app?autocommit=1&interpolateParams=true&interpolateParams=false&timeout=2s",
		"u@/app?charset=gbk&collation=gbk_chinese_ci&tls=skip-ver": "u@/app?autocommit=1&interpolateParams=true&tls=skip-ver",
		"u@/app?allowAllFiles=true&tls=true":                       "u@/app?autocommit=1&interpolateParams=true&tls=true",
		"nonsense":                                                 "nonsense",
	} {
		require.Equal(t, want, mysqlDSN(dsn), dsn)
	}
}

type otherDriver struct{ driver.Driver }

func TestPostgresDSN(t *testing.T) {
	t.Parallel()
	const set = "host=h default_query_exec_mode=simple_protocol"
	for dsn, want := range map[string]string{
		set:                    set,
		"host=h dbname=app":    "default_query_exec_mode=exec host=h dbname=app",
		"host=h password=":     "default_query_exec_mode=exec host=h password=",
		"postgres://h/app":     "postgres://h/app?default_query_exec_mode=exec",
		"postgresql://h/a?x=1": "postgresql://h/a?x=1&default_query_exec_mode=exec",
	} {
		require.Equal(t, want, postgresDSN(dsn, stdlib.GetDefaultDriver()), dsn)
		require.Equal(t, dsn, postgresDSN(dsn, otherDriver{}), "only pgx knows the setting")
	}
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
