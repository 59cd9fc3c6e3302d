package providers_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqlite"
	"github.com/snowlease/snowlease/redisseq"
)

// Package idworker uses the configured client and gives its worker id back before the client is
// closed, in either order of the modules. With Redis alone, the nil *gorm.DB is no second client.
func TestWithIDWorker(t *testing.T) {
	t.Parallel()
	onSQLite, onRedis := providers.Config{DB: sqliteConfig(t)}, providers.Config{Redis: redis.Config{Addrs: []string{miniredis.RunT(t).Addr()}}}
	db, err := openConfig(t, onSQLite.DB)
	require.NoError(t, err)
	inSQLite, err := gormdb.Center(db)
	require.NoError(t, err)
	defer func() { require.NoError(t, inSQLite.Close()) }()
	client, err := redis.Open(t.Context(), onRedis.Redis)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	inRedis, err := redisseq.New(client, redisseq.WithDurable(true))
	require.NoError(t, err)

	worker := idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{Durable: true, Skew: time.Millisecond}}
	for config, center := range map[*providers.Config]lease.Center{&onSQLite: inSQLite, &onRedis: inRedis} {
		for _, modules := range []fx.Option{fx.Options(providers.Module, idworker.Module), fx.Options(idworker.Module, providers.Module)} {
			var w *idworker.IdWorker
			app := fxtest.New(t, fx.Supply(*config, worker), modules, fx.Populate(&w))
			app.RequireStart()
			_, err := w.NextID()
			require.NoError(t, err)
			app.RequireStop()
			slots, err := center.Extras().Lister.Slots(t.Context(), "orders")
			require.NoError(t, err)
			for _, s := range slots {
				require.Empty(t, s.Holder, "worker id %d was not given back", s.Worker)
			}
		}
	}
}

// A forgotten Config is named by fx to those that require a client. To package idworker, which
// takes the clients as optional, there is none.
func TestForgottenConfig(t *testing.T) {
	t.Parallel()
	ids := fx.Options(idworker.Module, fx.Supply(idworker.Config{Namespace: "orders"}))
	for want, module := range map[string]fx.Option{
		"providers.Config": providers.Module,
		"sqldb.Config":     sqlite.Module,
		"redis.Config":     redis.Module,
	} {
		app := fx.New(fx.NopLogger, module, ids, fx.Invoke(func(*idworker.IdWorker) {}))
		require.ErrorContains(t, app.Err(), "no *gorm.DB, redis.UniversalClient or lease.Center in the fx graph: provide one, not nil, with its dependencies, such as a providers.Config")
		client := fx.Invoke(func(*gorm.DB) {})
		if want == "redis.Config" {
			client = fx.Invoke(func(goredis.UniversalClient) {})
		}
		app = fx.New(fx.NopLogger, module, ids, client)
		require.ErrorContains(t, app.Err(), "missing type: "+want)
	}
	app := fx.New(fx.NopLogger, providers.Module, ids, idworker.GORM)
	require.ErrorContains(t, app.Err(), "missing type: providers.Config")

	// An application that asks for no client needs no Config, and an empty one opens none.
	worker := int64(1)
	local := idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: &worker, Stateless: true}}
	for _, supplied := range []fx.Option{fx.Options(), fx.Supply(providers.Config{})} {
		app := fxtest.New(t, providers.Module, supplied, fx.Supply(local), idworker.Module, fx.Invoke(func(*idworker.IdWorker) {}))
		app.RequireStart().RequireStop()
	}
}
