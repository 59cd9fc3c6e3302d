package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
)

// FuzzDSN checks that errors and addresses never show a password, even of a malformed DSN,
// and that the added setting changes nothing else.
func FuzzDSN(f *testing.F) {
	const secret = "hunter2Geheim"
	for _, s := range [][3]string{
		{"postgres://app:", "", "@db:5432/app?sslmode=disable"},
		{"postgres://app:a/b", "?#", "@db/app"},
		{"postgresql://app:12/", "", "@db/app"},
		{"postgres://app:%", "", "@db/app"},
		{"postgres://app:", "@", "@db,db2:1/app"},
		{"host=db user=app password=", "", " dbname=app"},
		{"password='a ", "' host=x", " dbname=app"},
		{"password=\t", "", "\ndbname=app"},
		{"password=", "", " host=db user="},
		{"postgres://app:", "", "@db:x/app"},
		{"postgres://u:", "", "@db/a?connect_timeout=1"},
		{"postgres://app@db/app&password=", "", ""},
		{"postgres://app@db/app;password=", "", ""},
		{"postgres://db/app user=app password=", "", ""},
		{"host=db dbname=app;password=", "", " user=app"},
		{"host=db;password=", "", " dbname=app"},
		{"host=db password='", "", `\`},
		{"host=db password=", "", `\`},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, before, after, rest string) {
		dsn := before + secret + after + rest
		for _, names := range []string{"file", "cert", "key", "service", secret} {
			if strings.Contains(before+after+rest, names) {
				return // pgx opens files that such a setting names
			}
		}
		target, err := open(t.Context(), dsn, 3*time.Second)
		if err != nil {
			require.NotContains(t, err.Error(), secret)
			return
		}
		want, err := pgx.ParseConfig(dsn)
		require.NoError(t, err)
		if strings.Contains(want.Password, secret) || strings.HasSuffix(before, "password=") {
			require.NotContains(t, target.Address, secret)
		}
		got, err := pgx.ParseConfig(target.Dialector.(*postgres.Dialector).DSN)
		require.NoError(t, err)
		require.Equal(t, [4]any{want.Host, want.Port, want.User, want.Password}, [4]any{got.Host, got.Port, got.User, got.Password})
		if !strings.Contains(dsn, "#") && !strings.Contains(dsn, "connect_timeout") {
			require.Equal(t, 3*time.Second, got.ConnectTimeout)
		}
	})
}
