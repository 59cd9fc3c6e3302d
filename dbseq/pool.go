package dbseq

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/lease"
)

// A conn is the connection of a Center or a Segments to its database.
type conn struct {
	options
	dialect string
	pool    func() *sql.DB // opened on first use, so an unused center needs no Close
	own     bool           // whether Close closes the pool
	name    string         // for logs, without secrets
	warning string

	statements atomic.Pointer[map[string]statement]
	known      atomic.Bool // statements fit the server
}

// connect prepares a pool beside the application's, on the same driver and DSN. So no
// busy pool, plugin, read replica or transaction of the application interferes.
func connect(db *gorm.DB, opts []Option) (*conn, error) {
	c := &conn{options: options{prefix: "snowlease_", quarantine: lease.QuarantineOnChange, migrate: true}}
	var errs []error
	for _, opt := range opts {
		errs = append(errs, opt(&c.options))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if db == nil || db.Config == nil || db.Dialector == nil {
		return nil, errors.New("dbseq: the *gorm.DB is nil or was not opened by gorm.Open")
	}
	if db.Statement != nil {
		if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
			return nil, errors.New("dbseq: the *gorm.DB is in a transaction, which would hide leases until it ends: pass the one from gorm.Open")
		}
	}
	c.dialect = db.Name()
	if c.dialect != mysql && c.dialect != postgres && c.dialect != sqlite {
		return nil, fmt.Errorf("dbseq: the dialect %q is not supported: use %s, %s or %s", c.dialect, mysql, postgres, sqlite)
	}
	c.use(clocks[c.dialect], unknown)
	dsn, why := dsnOf(db.Dialector)
	if c.given != nil {
		c.pool = func() *sql.DB { return c.given }
		c.name = c.dialect // the pool may lead elsewhere
		return c, nil
	}
	c.name = nameOf(c.dialect, dsn)
	// db.Statement could be one of a transaction.
	app, err := (&gorm.DB{Config: db.Config}).DB()
	if err != nil {
		return nil, fmt.Errorf("dbseq: the *gorm.DB is not on a *sql.DB (%w): set one with WithPool", err)
	}
	if why == "" && inMemory(c.dialect, dsn) {
		why = "the database is in memory"
	}
	if why != "" {
		c.pool = func() *sql.DB { return app }
		c.warning = "dbseq shares the application's connection pool, because " + why +
			": renewals wait while all its connections are busy, and ids stop if that takes longer than the TTL: set a separate pool with dbseq.WithPool"
		return c, nil
	}
	connector, err := newConnector(app.Driver(), c.dialect, dsn)
	if err != nil {
		return nil, fmt.Errorf("dbseq: open a pool beside the application's: %w", err)
	}
	c.own = true
	c.pool = sync.OnceValue(func() *sql.DB {
		pool := sql.OpenDB(connector)
		pool.SetMaxOpenConns(2)
		pool.SetMaxIdleConns(1)
		pool.SetConnMaxLifetime(10 * time.Minute) // follows a host name that moves to another server
		if c.dialect == sqlite {
			pool.SetMaxOpenConns(1)
		}
		return pool
	})
	return c, nil
}

// use loads the statements with the SQL expressions of the server's clock and
// incarnation.
func (c *conn) use(now, incarnation string) {
	all := load(c.dialect, c.prefix, now, incarnation)
	c.statements.Store(&all)
	c.known.Store(incarnation != unknown)
}

// Close closes the pool if New opened it. It releases no worker id.
func (c *conn) Close() error {
	if !c.own {
		return nil
	}
	return c.pool().Close()
}

// Warnings returns what is dangerous about the connection, for the log at the start: that
// it shares the application's pool.
func (c *conn) Warnings() []string {
	if c.warning == "" {
		return nil
	}
	return []string{c.warning}
}

// String returns the name of the database without secrets, such as
// "mysql 127.0.0.1:3306/app". With WithPool it is the kind of database only.
func (c *conn) String() string { return c.name }

// dsnOf returns the DSN of a dialector, or why there is none. It uses reflection,
// because importing the dialector's package would link a driver.
func dsnOf(d gorm.Dialector) (dsn, why string) {
	v := reflect.Indirect(reflect.ValueOf(d))
	field := func(name string) reflect.Value {
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		if config := v.FieldByName("Config"); config.IsValid() && reflect.Indirect(config).Kind() == reflect.Struct {
			return reflect.Indirect(config).FieldByName(name)
		}
		if _, promoted := v.Type().FieldByName(name); promoted && v.FieldByName("Config").IsValid() {
			return reflect.Value{} // through a nil Config
		}
		return v.FieldByName(name)
	}
	if conn := field("Conn"); conn.IsValid() && conn.Kind() == reflect.Interface && !conn.IsNil() {
		return "", "gorm was opened on a connection, not on a DSN"
	}
	if hooks := field("OptionOpenDB"); hooks.IsValid() && hooks.Kind() == reflect.Slice && hooks.Len() > 0 {
		return "", "gorm's connections are set up by functions (OptionOpenDB)"
	}
	if s := field("DSN"); s.IsValid() && s.Kind() == reflect.String && s.String() != "" {
		return s.String(), ""
	}
	return "", fmt.Sprintf("the dialector %T shows no DSN", d)
}

// A connector opens connections with the application's driver.
type connector struct {
	driver.Connector
	setup string // SQL to run on each new connection
}

func newConnector(d driver.Driver, dialect, dsn string) (driver.Connector, error) {
	setup := ""
	switch dialect {
	case mysql:
		dsn = mysqlDSN(dsn)
	case postgres:
		dsn = postgresDSN(dsn, d)
	case sqlite:
		if !strings.Contains(dsn, "busy_timeout") {
			setup = "PRAGMA busy_timeout = 5000"
		}
	}
	if dc, ok := d.(driver.DriverContext); ok {
		c, err := dc.OpenConnector(dsn)
		return connector{c, setup}, err
	}
	return connector{opener{d, dsn}, setup}, nil
}

// Connect opens a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil || c.setup == "" {
		return conn, err
	}
	if x, ok := conn.(driver.ExecerContext); ok {
		if _, err := x.ExecContext(ctx, c.setup, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// Close closes the driver's connector if it is an io.Closer.
func (c connector) Close() error {
	if x, ok := c.Connector.(io.Closer); ok {
		return x.Close()
	}
	return nil
}

// An opener is a connector for a driver without one.
type opener struct {
	driver driver.Driver
	dsn    string
}

func (o opener) Connect(context.Context) (driver.Conn, error) { return o.driver.Open(o.dsn) }
func (o opener) Driver() driver.Driver                        { return o.driver }
