package sqlconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/dsn"
)

// A connector opens connections with a driver.
type connector struct {
	driver.Connector
	setup string            // SQL to run on each new connection
	hide  func(error) error // removes the secrets of the DSN from an error
}

func newConnector(d driver.Driver, dialect *dialect, text string) (connector, error) {
	hide := func(err error) error { return dsn.Hide(err, dialect.nameOf(text), text) }
	set, setup := dialect.session(text, d)
	if dc, ok := d.(driver.DriverContext); ok {
		c, err := dc.OpenConnector(set)
		return connector{c, setup, hide}, hide(err)
	}
	return connector{opener{d, set}, setup, hide}, nil
}

// An opener is a connector for a driver without one.
type opener struct {
	driver driver.Driver
	dsn    string
}

func (o opener) Driver() driver.Driver                        { return o.driver }
func (o opener) Connect(context.Context) (driver.Conn, error) { return o.driver.Open(o.dsn) }

// parse returns an error if pgx cannot parse the DSN. pgx itself parses only when it connects,
// and its own error may include parts of the password.
//
//nolint:contextcheck,nolintlint // the context has ended; contextcheck reports the callers
func (c connector) parse(text string) error {
	if !strings.Contains(packageOf(c.Driver()), "jackc/pgx") {
		return nil
	}
	if strings.HasSuffix(text, `\`) {
		return errors.New("dbseq: the DSN ends with a backslash") // pgx may panic
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	conn, err := c.Connector.Connect(ended)
	file := (*fs.PathError)(nil)
	switch {
	case err == nil:
		return conn.Close()
	case !strings.HasPrefix(err.Error(), "cannot parse"):
		return nil // parsed
	case errors.As(err, &file):
		return fmt.Errorf("dbseq: the DSN names a file that cannot be read: %w", dsn.File(file))
	}
	return errors.New("dbseq: the DSN cannot be parsed: write it like postgres://user:password@host:5432/name, with reserved characters percent-encoded, or host=host port=5432 user=user password=password dbname=name")
}

// openTime bounds the opening of a connection without a deadline. database/sql opens such a
// connection for a waiting caller, and an unreachable server would block the pool until TCP gives
// up.
const openTime = 10 * time.Second

// Connect opens a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, openTime)
		defer cancel()
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil || c.setup == "" {
		return conn, c.hide(err)
	}
	if x, ok := conn.(driver.ExecerContext); ok {
		if _, err := x.ExecContext(ctx, c.setup, nil); err != nil {
			return nil, c.hide(errors.Join(err, conn.Close()))
		}
	}
	return conn, nil
}

func packageOf(d driver.Driver) string {
	t := reflect.TypeOf(d)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}
