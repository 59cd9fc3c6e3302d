package mysql

import (
	"context"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/driver/mysql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDSN(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel() // nothing is dialled
	for _, c := range []struct {
		dsn, address string
		parseTime    bool
		timeout      time.Duration
	}{
		{"app:w@rd@tcp(127.0.0.1:3307)/orders", "127.0.0.1:3307/orders", true, 7 * time.Second},
		{"app@tcp(db)/orders?parseTime=false&timeout=1s", "db:3306/orders", false, time.Second},
		{"/orders?parseTime=true", "127.0.0.1:3306/orders", true, 7 * time.Second},
		{"unix(/run/mysqld.sock)/orders", "/run/mysqld.sock/orders", true, 7 * time.Second},
	} {
		got, err := open(ended, c.dsn, 7*time.Second)
		require.NoError(t, err, c.dsn)
		require.ErrorIs(t, got.Err, context.Canceled)
		require.Equal(t, c.address, got.Address)
		before, err := driver.ParseDSN(c.dsn)
		require.NoError(t, err)
		after := got.Dialector.(*mysql.Dialector).DSNConfig
		require.Equal(t, c.parseTime, after.ParseTime)
		require.Equal(t, c.timeout, after.Timeout)
		require.Equal(t, []string{before.User, before.Passwd, before.Addr, before.DBName}, []string{after.User, after.Passwd, after.Addr, after.DBName})
	}
}
