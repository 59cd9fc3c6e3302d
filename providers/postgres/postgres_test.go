package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/driver/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDSN(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dsn, address string
		timeout      time.Duration
	}{
		{"postgres://app:w%40rd@127.0.0.1:5433/orders", "127.0.0.1:5433/orders", 2 * time.Second},
		{"postgresql://app@db/orders?sslmode=disable", "db:5432/orders", 2 * time.Second},
		{"postgres://app@db/orders?connect_timeout=9", "db:5432/orders", 9 * time.Second},
		{"host=db user=app password=word dbname=orders", "db:5432/orders", 2 * time.Second},
		{"host=db user=app dbname=orders connect_timeout=9", "db:5432/orders", 9 * time.Second},
	} {
		got, err := open(t.Context(), c.dsn, 1500*time.Millisecond)
		require.NoError(t, err, c.dsn)
		require.Equal(t, c.address, got.Address)
		before, err := pgx.ParseConfig(c.dsn)
		require.NoError(t, err)
		after, err := pgx.ParseConfig(got.Dialector.(*postgres.Dialector).DSN)
		require.NoError(t, err)
		require.Equal(t, c.timeout, after.ConnectTimeout)
		require.Equal(t, []string{before.User, before.Password, before.Host, before.Database}, []string{after.User, after.Password, after.Host, after.Database})
	}
}
