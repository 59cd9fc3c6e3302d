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
//     other users of the clients must check for nil.
//
// The start of the application pings each client. If there is no answer, the start fails
// with the address and what to check. MySQL and MariaDB must answer even before, when fx
// constructs the *gorm.DB. The stop closes the clients after it has given the worker id
// back, since fx stops in the reverse order of construction.
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
	// Module provides a *gorm.DB and a redis.UniversalClient from Config. A client that
	// is not configured is nil, and it is no error if neither is.
	Module = fx.Module("providers", fx.Provide(NewDB, NewRedis))
	// DB provides a *gorm.DB from Config.DB, which must be set.
	DB = fx.Module("providers.db", fx.Provide(requireDB))
	// Redis provides a redis.UniversalClient from Config.Redis, which must be set.
	Redis = fx.Module("providers.redis", fx.Provide(requireRedis))
)

// Params are what the constructors take from fx. Without a Logger, nothing is logged.
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

// NewDB opens the database of Config.DB as the constructor of sqldb.New does, with all
// drivers. It returns nil and no error if Config.DB is zero.
func NewDB(p Params) (*gorm.DB, error) {
	if !p.Config.hasDB() {
		return nil, nil
	}
	return requireDB(p)
}

// NewRedis returns a client for Config.Redis as redis.New does. It returns nil and no
// error if Config.Redis is zero.
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
