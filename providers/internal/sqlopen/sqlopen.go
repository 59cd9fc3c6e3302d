// Package sqlopen opens a *gorm.DB from configuration, with the drivers of its caller. It links
// no driver itself.
package sqlopen

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.uber.org/fx"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// A Driver opens one kind of database. Packages mysql, postgres and sqlite each have one.
type Driver struct {
	// Name is the value of sqldb.Config.Driver that selects the driver.
	Name string
	// Form is an example of a DSN, for errors. Hint is what to check if the database does not
	// answer.
	Form, Hint string
	// Open parses a DSN. It does only the I/O that gorm.Open needs, within ctx. Its errors include
	// no part of the DSN except the address.
	Open func(ctx context.Context, dsn string, connect time.Duration) (Target, error)
}

// A Target is the database that a DSN names.
type Target struct {
	// Address names the database for people, without user, password and parameters.
	Address string
	// Dialector opens the database. It has a DSN, not a connection, so that package dbseq
	// can renew leases on its own connection.
	Dialector gorm.Dialector
	// Single is set if every connection is a separate database (SQLite in memory). The
	// pool then has one connection and never closes it.
	Single bool
	// Err is the error of a database that did not answer Open.
	Err error
}

// Params are the parameters of the constructors that New returns. Without a Logger, nothing is
// logged.
type Params struct {
	fx.In

	Config    sqldb.Config
	Lifecycle fx.Lifecycle
	Logger    *slog.Logger `optional:"true"`
}

// New returns a constructor for fx.Provide that opens the database of Params.Config with one of
// the drivers. The constructor fails if the Config is invalid or its driver is not one of them.
// The start of the application fails if the database does not answer. The stop closes the pool
// after everything built on it has stopped, and so after the worker id is released.
func New(drivers ...Driver) func(Params) (*gorm.DB, error) {
	return func(p Params) (*gorm.DB, error) {
		if err := p.Config.Validate(); err != nil {
			return nil, err
		}
		p.Config = p.Config.WithDefaults()
		var linked []string
		for _, d := range drivers {
			if d.Name == p.Config.Driver {
				return open(p, d)
			}
			linked = append(linked, d.Name)
		}
		return nil, fmt.Errorf("providers: db.driver %q is not linked into this program: set one of: %s", p.Config.Driver, strings.Join(linked, ", "))
	}
}

func open(p Params, d Driver) (*gorm.DB, error) {
	c, log := p.Config, cmp.Or(p.Logger, slog.New(slog.DiscardHandler))
	bounded, cancel := context.WithTimeout(context.Background(), c.ConnectTimeout)
	defer cancel()
	t, err := d.Open(bounded, string(c.DSN), c.ConnectTimeout)
	if err != nil {
		return nil, fmt.Errorf("providers: db.dsn is not a %s DSN (%w): write it like %s", d.Name, err, d.Form)
	}
	unreachable := func(err error) error {
		return fmt.Errorf("providers: %s at %s: cannot connect: %w: check %s", d.Name, cmp.Or(t.Address, "the host of db.dsn"), dsn.Hide(err, t.Address, string(c.DSN)), d.Hint)
	}
	if t.Err != nil {
		return nil, unreachable(t.Err)
	}
	db, err := gorm.Open(t.Dialector, &gorm.Config{
		// An application whose configuration chooses the driver needs errors that do not depend on the
		// driver, such as gorm.ErrDuplicatedKey.
		TranslateError: true,
		// The start hook pings, within a context.
		DisableAutomaticPing: true,
		// Failed and slow statements are logged without their values, which may be private.
		Logger: logger.NewSlogLogger(log, logger.Config{
			SlowThreshold: c.SlowQuery, LogLevel: logger.Warn, IgnoreRecordNotFoundError: true, ParameterizedQueries: true,
		}),
	})
	var pool *sql.DB
	if err == nil {
		pool, err = db.DB()
	}
	if err != nil {
		return nil, unreachable(err)
	}
	if t.Single {
		c.MaxOpen, c.MaxIdle, c.MaxLifetime, c.MaxIdleTime = 1, 1, 0, 0
	}
	pool.SetMaxOpenConns(c.MaxOpen)
	pool.SetMaxIdleConns(c.MaxIdle)
	pool.SetConnMaxLifetime(c.MaxLifetime)
	pool.SetConnMaxIdleTime(c.MaxIdleTime)
	// These must be two hooks, since fx skips the OnStop of a hook whose OnStart failed.
	// After an outage, MySQL's driver cannot say goodbye on idle connections. That fails no stop.
	p.Lifecycle.Append(fx.StopHook(func() { _ = pool.Close() }))
	p.Lifecycle.Append(fx.StartHook(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
		defer cancel()
		if err := pool.PingContext(ctx); err != nil {
			return unreachable(err)
		}
		log.InfoContext(ctx, "database is open", "driver", d.Name, "address", t.Address)
		return nil
	}))
	return db, nil
}
