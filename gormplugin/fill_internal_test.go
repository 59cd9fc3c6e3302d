package gormplugin

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

type row struct{ Model }

type counting struct{ last int64 }

func (c *counting) NextIDs(_ context.Context, dst []int64) error {
	for i := range dst {
		c.last++
		dst[i] = c.last
	}
	return nil
}

func open(t *testing.T, p *plugin) *gorm.DB {
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "test.db")), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	require.NoError(t, db.Use(p))
	require.NoError(t, db.AutoMigrate(&row{}))
	return db
}

// A callback of the application may copy a statement and insert with the copy, which must
// not release ids that are in use.
func TestBatchBelongsToItsStatement(t *testing.T) {
	db := open(t, newPlugin(&counting{}, Config{}))
	copied := false
	require.NoError(t, db.Callback().Create().Before("gorm:create").Register("copy", func(tx *gorm.DB) {
		b, ok := tx.Statement.Context.(*batch)
		if ok && b.stmt == tx.Statement && !copied {
			copied = true
			require.NoError(t, tx.Session(&gorm.Session{}).Create(&row{Model{ID: 1<<40 + b.id[0]}}).Error)
			require.True(t, tx.Statement.Context == b)
			require.NotZero(t, b.id[0])
			require.True(t, b.list == nil || len(b.ids) == 1)
		}
	}))
	for _, session := range []*gorm.DB{db, db.Where("id", 0)} {
		copied = false
		tx := session.Create(&row{})
		require.NoError(t, tx.Error)
		require.True(t, copied)
		require.Equal(t, context.Background(), tx.Statement.Context)
	}

	// A context that another plugin has put around remains.
	var around context.Context
	require.NoError(t, db.Callback().Create().Before("gorm:create").Register("trace", func(tx *gorm.DB) {
		around = context.WithValue(tx.Statement.Context, &copied, true)
		tx.Statement.Context = around
	}))
	r := &row{}
	tx := db.Create(r)
	require.NoError(t, tx.Error)
	require.True(t, tx.Statement.Context == around)

	// The batch in it has ended: the same statement is refused for a key that it did not set.
	filled := r.ID
	require.NotZero(t, filled)
	require.Error(t, tx.Create(r).Error)
	require.Equal(t, filled, r.ID)
}
