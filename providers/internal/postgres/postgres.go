// Package postgres is the driver of package providers/postgres.
package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/driver/postgres"

	"github.com/snowlease/snowlease/internal/dsn/pgdsn"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
)

// Driver returns the driver named postgres.
func Driver() sqlopen.Driver {
	return sqlopen.Driver{
		Name: "postgres",
		Form: "postgres://user:password@host:5432/name (reserved characters percent-encoded) or host=host port=5432 user=user password=password dbname=name",
		Hint: "that the server runs and is reachable at this address, and user, password, database name and sslmode in db.dsn",
		Open: open,
	}
}

func open(_ context.Context, dsn string, connect time.Duration) (sqlopen.Target, error) {
	c, err := pgdsn.Parse(dsn)
	if err != nil {
		return sqlopen.Target{}, err
	}
	if c.ConnectTimeout == 0 {
		dsn = with(dsn, fmt.Sprintf("connect_timeout=%d", max(1, (connect+time.Second-1)/time.Second)))
	}
	return sqlopen.Target{
		Address:   pgdsn.Place(c),
		Dialector: postgres.Open(dsn),
	}, nil
}

// with adds a setting to a DSN of either form.
func with(dsn, setting string) string {
	switch {
	case !pgdsn.IsURL(dsn):
		return setting + " " + dsn // not at the end, where it would become part of an empty value
	case strings.Contains(dsn, "?"):
		return dsn + "&" + setting
	}
	return dsn + "?" + setting
}
