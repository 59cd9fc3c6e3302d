package providers_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
	"github.com/snowlease/snowlease/providers/sqlite"
	"github.com/snowlease/snowlease/redisseq"
)

// Package idworker uses the configured client and gives its worker id back before the
// client is closed, in either order of the modules.
func TestWithIDWorker(t *testing.T) {
	t.Parallel()
	config := providers.Config{DB: sqliteConfig(t)}
	for _, modules := range []fx.Option{
		fx.Options(providers.Module, idworker.Module),
		fx.Options(idworker.Module, providers.Module),
		fx.Options(idworker.Module, providers.DB),
	} {
		var w *idworker.IdWorker
		app := fxtest.New(t, fx.Supply(config, idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{Skew: time.Millisecond}}), modules, fx.Populate(&w))
		app.RequireStart()
		id, err := w.NextID()
		require.NoError(t, err)
		require.Positive(t, id)
		app.RequireStop()

		db, err := sqldb.Open(t.Context(), config.DB, nil, providers.Drivers()...)
		require.NoError(t, err)
		center, err := gormdb.Center(db)
		require.NoError(t, err)
		slots, err := center.Extras().Lister.Slots(t.Context(), "orders")
		require.NoError(t, err)
		for _, s := range slots {
			require.Empty(t, s.Holder, "worker id %d was not given back", s.Worker)
		}
		require.NoError(t, center.Close())
		require.NoError(t, sqldb.Close(db))
	}
}

// With Redis alone, the nil *gorm.DB does not count as a second client.
func TestWithIDWorkerOnRedis(t *testing.T) {
	t.Parallel()
	config := providers.Config{Redis: providers.RedisConfig{Addrs: []string{miniredis.RunT(t).Addr()}}}
	worker := idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{Quarantine: lease.QuarantineNever}}
	client, err := redis.Open(t.Context(), config.Redis)
	require.NoError(t, err)
	center, err := redisseq.New(client, redisseq.WithQuarantine(lease.QuarantineNever))
	require.NoError(t, err)
	request, err := worker.Request()
	require.NoError(t, err)
	require.NoError(t, center.Extras().Init(t.Context(), request))

	var w *idworker.IdWorker
	app := fxtest.New(t, fx.Supply(config, worker), providers.Module, idworker.Module, fx.Populate(&w))
	app.RequireStart()
	_, err = w.NextID()
	require.NoError(t, err)
	app.RequireStop()
	slots, err := center.Extras().Lister.Slots(t.Context(), "orders")
	require.NoError(t, err)
	for _, s := range slots {
		require.Empty(t, s.Holder, "worker id %d was not given back", s.Worker)
	}
	require.NoError(t, client.Close())
}

// A forgotten Config is named, though package idworker takes the clients as optional and
// package gormplugin does not.
func TestForgottenConfig(t *testing.T) {
	t.Parallel()
	const all = "providers.Config is missing: add it as a value, fx.Supply(cfg)"
	for _, c := range []struct {
		module fx.Option
		want   string
	}{
		{providers.Module, all},
		{providers.DB, all},
		{providers.Redis, all},
		{sqlite.Module, "sqldb.Config is missing or empty: add it as a value, fx.Supply(cfg)"},
		{redis.Module, "redis.Config is missing or empty: add it as a value, fx.Supply(cfg)"},
	} {
		for name, supplied := range map[string]fx.Option{
			"nothing":  fx.Options(),
			"pointers": fx.Supply(&providers.Config{}, &sqldb.Config{}, &redis.Config{}),
		} {
			app := fx.New(fx.NopLogger, c.module, supplied, idworker.Module, fx.Supply(idworker.Config{Namespace: "orders"}),
				fx.Invoke(func(*idworker.IdWorker) {}))
			require.ErrorContains(t, app.Err(), c.want, name)
			require.NotContains(t, app.Err().Error(), "no *gorm.DB", name)
		}
	}
	db := fx.New(fx.NopLogger, providers.Module, idworker.Module, gormplugin.Module, fx.Supply(idworker.Config{Namespace: "orders"}))
	require.ErrorContains(t, db.Err(), "providers.Config is missing")

	// An application that asks for no client needs no Config, and an empty one opens none.
	worker := int64(1)
	local := idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: &worker, Stateless: true}}
	app := fxtest.New(t, providers.Module, fx.Supply(providers.Config{}, local), idworker.Module, fx.Invoke(func(*idworker.IdWorker) {}))
	app.RequireStart().RequireStop()
}
