// Package postgres lets an application open PostgreSQL from configuration and links
// no other SQL driver. See package sqldb for how, package providers for all drivers at
// once.
//
// A DSN is one of github.com/jackc/pgx, a URL or pairs:
//
//	postgres://user:password@host:5432/name?sslmode=verify-full
//	host=host port=5432 user=user password=password dbname=name
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/fx"
	"gorm.io/driver/postgres"

	"github.com/snowlease/snowlease/providers/sqldb"
)

// Module provides a *gorm.DB on PostgreSQL from a sqldb.Config.
var Module = fx.Module("postgres", fx.Provide(sqldb.New(Driver())))

// Driver returns the driver with the name postgres, for sqldb.New and sqldb.Open.
func Driver() sqldb.Driver {
	return sqldb.Driver{
		Name: "postgres",
		Form: "postgres://user:password@host:5432/name (reserved characters percent-encoded) or host=host port=5432 user=user password=password dbname=name",
		Hint: "that the server runs and can be reached there, and user, password, database name and sslmode in db.dsn",
		Open: open,
	}
}

func open(_ context.Context, dsn string, connect time.Duration) (sqldb.Target, error) {
	if misread(dsn) {
		return sqldb.Target{}, errors.New(`an "@" stands behind the host: percent-encode the reserved characters of user and password`)
	}
	if !isURL(dsn) && strings.HasSuffix(dsn, `\`) {
		return sqldb.Target{}, errors.New("it ends with a backslash") // at which pgx panics
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		if file := new(fs.PathError); errors.As(err, &file) {
			return sqldb.Target{}, fmt.Errorf("it names a file that cannot be read: %w", file)
		}
		// What pgx says can hold a part of the password.
		return sqldb.Target{}, errors.New("it cannot be read")
	}
	if c.ConnectTimeout == 0 {
		dsn = with(dsn, fmt.Sprintf("connect_timeout=%d", max(1, (connect+time.Second-1)/time.Second)))
	}
	return sqldb.Target{
		Address:   fmt.Sprintf("%s:%d/%s", c.Host, c.Port, c.Database),
		Dialector: postgres.Open(dsn),
	}, nil
}

// misread: a "/", "?" or "#" in the password of a URL ends the host, and what follows
// would be shown as the name of the database.
func misread(dsn string) bool {
	_, rest, _ := strings.Cut(dsn, "://")
	end := strings.IndexAny(rest, "/?#")
	return isURL(dsn) && end >= 0 && strings.Contains(rest[end:], "@")
}

func isURL(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// with adds a setting to a DSN of either form.
func with(dsn, setting string) string {
	switch {
	case !isURL(dsn):
		return setting + " " + dsn // in front: an empty value at the end takes what follows
	case strings.Contains(dsn, "?"):
		return dsn + "&" + setting
	}
	return dsn + "?" + setting
}
