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

type benchRow struct {
	Model
	Name string
}

type counting struct{ last int64 }

func (c *counting) NextIDs(_ context.Context, dst []int64) error {
	for i := range dst {
		c.last++
		dst[i] = c.last
	}
	return nil
}

// prepared returns n rows, and a function that runs the callback on them without an INSERT.
func prepared(t testing.TB, n int) (rows []benchRow, fill func()) {
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "test.db")), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	p := &filler{Plugin: New(&counting{}, Config{})}
	require.NoError(t, db.Use(p.Plugin))
	rows = make([]benchRow, n)
	tx := db.Session(&gorm.Session{DryRun: true}).Create(&rows)
	require.NoError(t, tx.Error)
	return rows, func() {
		for i := range rows {
			rows[i].ID = 0
		}
		p.fill(tx)
		p.settleBatch(tx)
	}
}

// Allocations are per statement, not per row.
func TestFillAllocatesPerStatement(t *testing.T) {
	rows, fill := prepared(t, 1000)
	require.Less(t, testing.AllocsPerRun(20, fill), 20.0)
	require.NotZero(t, rows[999].ID)
}

// A callback of the application may copy a statement and insert with the copy, which must
// not release ids that are in use.
func TestBatchBelongsToItsStatement(t *testing.T) {
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "test.db")), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	require.NoError(t, db.Use(New(&counting{}, Config{})))
	require.NoError(t, db.AutoMigrate(&benchRow{}))
	copied := false
	require.NoError(t, db.Callback().Create().Before("gorm:create").Register("copy", func(tx *gorm.DB) {
		b, ok := tx.Statement.Clauses[batchKey].Expression.(*batch)
		if ok && b.stmt == tx.Statement && !copied {
			copied = true
			require.NoError(t, tx.Session(&gorm.Session{}).Create(&benchRow{Model: Model{ID: 1 << 40}}).Error)
			require.True(t, tx.Statement == b.stmt)
			require.Equal(t, []int64{1}, b.ids)
		}
	}))
	tx := db.Session(&gorm.Session{}).Where("name", "")
	row := benchRow{}
	require.NoError(t, tx.Create(&row).Error)
	require.True(t, copied)
	require.NotContains(t, tx.Statement.Clauses, batchKey)
}

func BenchmarkFill(b *testing.B) {
	for _, bm := range []struct {
		name string
		rows int
	}{{"1 row", 1}, {"1000 rows", 1000}} {
		b.Run(bm.name, func(b *testing.B) {
			_, fill := prepared(b, bm.rows)
			b.ReportAllocs()
			for b.Loop() {
				fill()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bm.rows), "ns/row")
		})
	}
}
