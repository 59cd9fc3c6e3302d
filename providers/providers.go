// Package providers opens a *gorm.DB and a redis.UniversalClient from configuration, for
// applications that do not open their own. It supports MySQL, MariaDB, PostgreSQL and
// SQLite, and a single Redis server, Sentinel or a cluster.
//
// The package links all SQL drivers, so that the configuration can choose. An application
// that knows its database can use one of the other packages and link one driver only:
//
//	providers          all drivers and Redis, one Config     Module, DB, Redis
//	providers/mysql    MySQL and MariaDB, sqldb.Config        Module, Driver
//	providers/postgres PostgreSQL, sqldb.Config               Module, Driver
//	providers/sqlite   SQLite without cgo, sqldb.Config       Module, Driver
//	providers/sqldb    any set of drivers                     New, Open
//	providers/redis    Redis, redis.Config, no driver         Module, New, Open
//
// Use it only in place of clients of your own: fx refuses a second *gorm.DB or
// redis.UniversalClient.
//
// # Which clients are opened
//
// fx opens a client if something in the application asks for it. Package idworker asks for
// both as optional clients, which fx makes whenever anything provides them. Choose the
// module accordingly:
//
//   - DB and Redis are for applications that always need that client. They fail if it is
//     not configured.
//   - Module is for applications whose configuration chooses. A client that is not
//     configured is nil, without an error. Package idworker ignores a nil client, and all
//     other users of the clients must check for nil. Without any Config in the fx graph,
//     Module fails too.
//
// The start of the application pings each client. If there is no answer, the start fails
// with the address and what to check. MySQL and MariaDB must answer even before, when fx
// constructs the *gorm.DB. The stop closes the clients after it has given the worker id
// back, since fx stops in the reverse order of construction.
package providers

import (
	"errors"
	"log/slog"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/providers/mysql"
	"github.com/snowlease/snowlease/providers/postgres"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
	"github.com/snowlease/snowlease/providers/sqlite"
)

var (
	// Module provides a *gorm.DB and a redis.UniversalClient from Config. A client that
	// is not configured is nil, and it is no error if neither is.
	Module = fx.Module("providers", fx.Provide(supply, fx.Private), fx.Provide(optionalDB, optionalRedis))
	// DB provides a *gorm.DB from Config.DB, which must be set.
	DB = fx.Module("providers.db", fx.Provide(supply, fx.Private), fx.Provide(requireDB))
	// Redis provides a redis.UniversalClient from Config.Redis, which must be set.
	Redis = fx.Module("providers.redis", fx.Provide(supply, fx.Private), fx.Provide(requireRedis))
)

// supplied tells a zero Config from none: a user that takes a client as optional sees none
// at all if the Config of its constructor is missing.
type supplied struct{ Config }

func supply(c Config) *supplied { return &supplied{c} }

type params struct {
	fx.In

	Config    *supplied `optional:"true"`
	Lifecycle fx.Lifecycle
	Logger    *slog.Logger `optional:"true"`
}

func (p params) config() (Config, error) {
	if p.Config == nil {
		return Config{}, errors.New(`providers: providers.Config is missing: add it as a value, fx.Supply(cfg), or what its constructor needs`)
	}
	return p.Config.Config, nil
}

// Drivers returns all drivers, for sqldb.New and sqldb.Open.
func Drivers() []sqldb.Driver {
	return []sqldb.Driver{mysql.Driver(), postgres.Driver(), sqlite.Driver()}
}

func optionalDB(p params) (*gorm.DB, error) {
	if c, err := p.config(); err != nil || !c.hasDB() {
		return nil, err
	}
	return requireDB(p)
}

func optionalRedis(p params) (goredis.UniversalClient, error) {
	if c, err := p.config(); err != nil || !c.hasRedis() {
		return nil, err
	}
	return requireRedis(p)
}

func requireDB(p params) (*gorm.DB, error) {
	c, err := p.config()
	if err != nil {
		return nil, err
	}
	if err := c.DB.Validate(); err != nil {
		return nil, err
	}
	return sqldb.New(Drivers()...)(sqldb.Params{Config: c.DB, Lifecycle: p.Lifecycle, Logger: p.Logger})
}

func requireRedis(p params) (goredis.UniversalClient, error) {
	c, err := p.config()
	if err != nil {
		return nil, err
	}
	if err := c.Redis.Validate(); err != nil {
		return nil, err
	}
	return redis.New(redis.Params{Config: c.Redis, Lifecycle: p.Lifecycle, Logger: p.Logger})
}
