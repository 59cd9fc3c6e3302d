//go:build prove

package gormplugin_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

// Two processes share the one connection of a pool in transaction mode. GORM itself must
// not prepare statements there, by either of its settings.
func TestModuleThroughPgBouncer(t *testing.T) {
	t.Parallel()
	proxy := testserver.NewPgBouncer(t, testserver.NewPostgres(t), "pool_mode = transaction", "default_pool_size = 1")
	var dbs []*gorm.DB
	for _, d := range []gorm.Dialector{
		postgres.New(postgres.Config{DSN: proxy.DSN(), PreferSimpleProtocol: true}),
		postgres.Open(proxy.DSN() + " default_query_exec_mode=exec"),
	} {
		db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
		require.NoError(t, err)
		pool, err := db.DB()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, pool.Close()) })
		require.NoError(t, db.AutoMigrate(&Plain{}))
		app := fxtest.New(t, fx.Supply(db, idworker.Config{Namespace: "gormplugin", Store: idworker.StoreConfig{Skew: time.Millisecond}}),
			idworker.Module, gormplugin.Module)
		app.RequireStart()
		t.Cleanup(app.RequireStop)
		dbs = append(dbs, db)
	}
	for range 20 {
		for _, db := range dbs {
			require.NoError(t, db.Create([]*Plain{{}, {}}).Error)
			require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return tx.Create(&Plain{}).Error }))
		}
	}
	var rows int64
	require.NoError(t, dbs[0].Model(&Plain{}).Where("id > 0").Count(&rows).Error)
	require.EqualValues(t, 120, rows)
}
