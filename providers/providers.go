// Package providers opens a *gorm.DB and a redis.UniversalClient from configuration,
// for applications that do not have them: MySQL, MariaDB, PostgreSQL or SQLite by GORM,
// and a single Redis, Sentinel or a cluster.
//
// It links all SQL drivers, so that configuration can choose. An application that
// knows its database takes one of the packages below instead, and links that one only:
//
//	providers          all drivers and Redis, one Config     Module, DB, Redis
//	providers/mysql    MySQL and MariaDB, sqldb.Config        Module, Driver
//	providers/postgres PostgreSQL, sqldb.Config               Module, Driver
//	providers/sqlite   SQLite without cgo, sqldb.Config       Module, Driver
//	providers/sqldb    any set of drivers                     New, Open
//	providers/redis    Redis, redis.Config, no driver         Module, New, Open
//
// Do not use it where clients exist already: fx knows one *gorm.DB.
//
// # What is opened
//
// fx opens what something in the application asks for. Package idworker asks for both,
// as optional clients, and fx makes an optional client whenever anything provides it.
// So:
//
//   - DB and Redis are for applications that need the one, the other or both: they fail
//     when theirs is not configured.
//   - Module is for applications whose configuration chooses. There, a half of Config
//     that is left zero yields a nil client and no error, which package idworker takes
//     as absent. Whoever else asks for that client must do so as well.
//
// A client is pinged when the application starts, which fails with the address and what
// to check when there is no answer, and closed when it stops. Since fx stops in
// the reverse order of construction, the worker id has been given back by then.
package providers

import (
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
	// Module provides a *gorm.DB and a redis.UniversalClient from Config. One that is
	// not configured is nil.
	Module = fx.Module("providers", fx.Provide(NewDB, NewRedis))
	// DB provides a *gorm.DB from Config.DB, which must be set.
	DB = fx.Module("providers.db", fx.Provide(requireDB))
	// Redis provides a redis.UniversalClient from Config.Redis, which must be set.
	Redis = fx.Module("providers.redis", fx.Provide(requireRedis))
)

// Params are what the constructors take from fx. Logger is optional.
type Params struct {
	fx.In

	Config    Config
	Lifecycle fx.Lifecycle
	Logger    *slog.Logger `optional:"true"`
}

// Drivers returns all drivers, for sqldb.New and sqldb.Open.
func Drivers() []sqldb.Driver {
	return []sqldb.Driver{mysql.Driver(), postgres.Driver(), sqlite.Driver()}
}

// NewDB opens the database of Config.DB as sqldb.New does, with any of the drivers. It
// returns nil and no error where Config.DB is zero.
func NewDB(p Params) (*gorm.DB, error) {
	if !p.Config.hasDB() {
		return nil, nil
	}
	return requireDB(p)
}

// NewRedis makes a client for Config.Redis as redis.New does. It returns nil and no
// error where Config.Redis is zero.
func NewRedis(p Params) (goredis.UniversalClient, error) {
	if !p.Config.hasRedis() {
		return nil, nil
	}
	return requireRedis(p)
}

func requireDB(p Params) (*gorm.DB, error) {
	return sqldb.New(Drivers()...)(sqldb.Params{Config: p.Config.DB, Lifecycle: p.Lifecycle, Logger: p.Logger})
}

func requireRedis(p Params) (goredis.UniversalClient, error) {
	return redis.New(redis.Params{Config: p.Config.Redis, Lifecycle: p.Lifecycle, Logger: p.Logger})
}
