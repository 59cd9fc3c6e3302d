// Package providers opens a *gorm.DB and a redis.UniversalClient from configuration, for
// applications that do not open their own. It supports MySQL, MariaDB, PostgreSQL and
// SQLite, and a single Redis server, Sentinel or a cluster.
//
// The package links all SQL drivers, so that the configuration can choose. An application
// that knows its database can use one of the other packages and link one driver only:
//
//	providers          all drivers and Redis: providers.Config
//	providers/mysql    MySQL and MariaDB: sqldb.Config
//	providers/postgres PostgreSQL: sqldb.Config
//	providers/sqlite   SQLite without cgo: sqldb.Config
//	providers/redis    Redis, no driver: redis.Config
//
// Do not use it together with clients that the application opens: fx refuses a second *gorm.DB or
// redis.UniversalClient.
//
// # Which clients are opened
//
// fx opens a client if something in the application depends on it. Package idworker depends
// optionally on both clients, and fx constructs an optional client whenever anything provides it.
// A client that Module's Config leaves out is nil, without an error. Package idworker ignores a
// nil client; all other users of the clients must check for nil. The modules of the other
// packages fail instead.
//
// Without a Config in the fx graph there are no clients, and fx reports the missing type to
// constructors that require one.
//
// The start of the application pings each client. If there is no answer, the start fails with the
// address and what to check. MySQL and MariaDB must answer earlier, when fx constructs the
// *gorm.DB. The stop closes the clients after it has released the worker id, because fx stops in
// the reverse order of construction.
package providers

import (
	"log/slog"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/providers/internal/mysql"
	"github.com/snowlease/snowlease/providers/internal/postgres"
	"github.com/snowlease/snowlease/providers/internal/sqlite"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// Module provides a *gorm.DB and a redis.UniversalClient from Config. A client that is not
// configured is nil. It is not an error if neither is configured.
var Module = fx.Module("providers", fx.Provide(
	fx.Annotate(newDB, fx.ParamTags("", "", `optional:"true"`)),
	fx.Annotate(newRedis, fx.ParamTags("", "", `optional:"true"`)),
))

func newDB(lc fx.Lifecycle, c Config, log *slog.Logger) (*gorm.DB, error) {
	if c.DB == (sqldb.Config{}) {
		return nil, nil
	}
	return sqlopen.New(mysql.Driver(), postgres.Driver(), sqlite.Driver())(sqlopen.Params{Config: c.DB, Lifecycle: lc, Logger: log})
}

func newRedis(lc fx.Lifecycle, c Config, log *slog.Logger) (goredis.UniversalClient, error) {
	if c.Redis.IsZero() {
		return nil, nil
	}
	return redis.New(lc, c.Redis, log)
}
