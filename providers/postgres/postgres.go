// Package postgres opens PostgreSQL from configuration and links no other SQL driver. See
// package sqldb for its use, and package providers for all drivers at once.
//
// A DSN has a form of github.com/jackc/pgx, a URL or key-value pairs:
//
//	postgres://user:password@host:5432/name?sslmode=verify-full
//	host=host port=5432 user=user password=password dbname=name
package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/fx"
	"gorm.io/driver/postgres"

	"github.com/snowlease/snowlease/internal/dsn/pgdsn"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// Module provides a *gorm.DB on PostgreSQL from a sqldb.Config.
var Module = fx.Module("postgres", fx.Provide(sqldb.New(Driver())))

// Driver returns the driver named postgres, for sqldb.New and sqldb.Open.
func Driver() sqldb.Driver {
	return sqldb.Driver{
		Name: "postgres",
		Form: "postgres://user:password@host:5432/name (reserved characters percent-encoded) or host=host port=5432 user=user password=password dbname=name",
		Hint: "that the server runs and is reachable at this address, and user, password, database name and sslmode in db.dsn",
		Open: open,
	}
}

func open(_ context.Context, dsn string, connect time.Duration) (sqldb.Target, error) {
	c, err := pgdsn.Parse(dsn)
	if err != nil {
		return sqldb.Target{}, err
	}
	if c.ConnectTimeout == 0 {
		dsn = with(dsn, fmt.Sprintf("connect_timeout=%d", max(1, (connect+time.Second-1)/time.Second)))
	}
	return sqldb.Target{
		Address:   pgdsn.Place(c),
		Dialector: postgres.Open(dsn),
	}, nil
}

// with returns a DSN of either form with a setting added.
func with(dsn, setting string) string {
	switch {
	case !pgdsn.IsURL(dsn):
		return setting + " " + dsn // not at the end, where an empty value would swallow it
	case strings.Contains(dsn, "?"):
		return dsn + "&" + setting
	}
	return dsn + "?" + setting
}
