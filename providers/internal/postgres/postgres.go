// Package postgres is the driver of package providers/postgres.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/driver/postgres"

	"github.com/snowlease/snowlease/internal/dsn"
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

// open parses a DSN in a form of github.com/jackc/pgx. Its error includes no part of the DSN
// except the name of a file.
func open(_ context.Context, text string, connect time.Duration) (t sqlopen.Target, err error) {
	if dsn.IsURL(text) && dsn.AtAfterHost(text) {
		return t, errors.New(`an "@" follows the host; percent-encode the reserved characters of user and password`)
	}
	if !dsn.IsURL(text) && strings.HasSuffix(text, `\`) {
		return t, errors.New("it ends with a backslash") // pgx would panic
	}
	c, err := pgx.ParseConfig(text)
	if file := new(fs.PathError); errors.As(err, &file) {
		return t, fmt.Errorf("it names a file that cannot be read: %w", dsn.File(file))
	}
	if err != nil { // it may include a part of the password
		return t, errors.New("it cannot be parsed")
	}
	if c.ConnectTimeout == 0 {
		text = dsn.WithSetting(text, fmt.Sprintf("connect_timeout=%d", max(1, (connect+time.Second-1)/time.Second)))
	}
	t.Address, t.Dialector = dsn.Place(net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database), postgres.Open(text)
	return t, nil
}
