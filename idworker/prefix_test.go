package idworker_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/driver/postgres"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/numbers"
)

// Worker ids and numbers are in the tables of store.table_prefix alone.
func TestTablePrefix(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{
		Namespace: "orders", Mode: idworker.ModeDB, Store: idworker.StoreConfig{TablePrefix: "shop_"},
		Segments: []numbers.SegmentConfig{{Name: "order_no", Start: 1}},
	}
	db := openDB(t, sqlite.Open(filepath.Join(t.TempDir(), "app.db")))
	var w *idworker.IdWorker
	var s *idworker.Numbers
	a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg, db), fx.Populate(&w, &s))
	a.RequireStart()
	g, err := s.Segment("order_no")
	require.NoError(t, err)
	_, err = g.Next(t.Context())
	require.NoError(t, err)
	a.RequireStop()
	tables, err := db.Migrator().GetTables()
	require.NoError(t, err)
	tables = slices.DeleteFunc(tables, func(n string) bool { return strings.HasPrefix(n, "sqlite_") })
	require.ElementsMatch(t, []string{"shop_meta", "shop_segment", "shop_slot", "shop_ticket"}, tables)
	for _, prefix := range []string{"Shop_", "1_", "a-b", strings.Repeat("a", 41)} {
		cfg.Store.TablePrefix = prefix
		require.ErrorContains(t, cfg.Validate(), "store.table_prefix", prefix)
	}
}

// A role with rights on the tables of its prefix needs no others, and has none.
func TestTablePrefixBoundsRights(t *testing.T) {
	t.Parallel()
	dsn := testserver.Postgres(t)
	admin := openDB(t, postgres.Open(dsn))
	role := "app_" + admin.Migrator().CurrentDatabase()
	for _, prefix := range []string{"shop_", "billing_"} {
		w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{TablePrefix: prefix}}, idworker.Clients{DB: admin})
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	for _, statement := range []string{
		"CREATE ROLE " + role + " LOGIN PASSWORD 'word'",
		"GRANT SELECT, INSERT, UPDATE ON shop_slot, shop_meta TO " + role,
		"GRANT SELECT, INSERT, DELETE ON shop_ticket TO " + role,
	} {
		require.NoError(t, admin.Exec(statement).Error)
	}
	t.Cleanup(func() { admin.Exec("DROP OWNED BY " + role); admin.Exec("DROP ROLE " + role) })
	db := openDB(t, postgres.Open(dsn+" user="+role+" password=word"))
	w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{TablePrefix: "shop_"}}, idworker.Clients{DB: db})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.ErrorContains(t, db.Exec("UPDATE billing_slot SET hwm_ms = 0").Error, "permission denied")
	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{TablePrefix: "billing_"}}, idworker.Clients{DB: db})
	require.ErrorContains(t, err, "permission denied")
}
