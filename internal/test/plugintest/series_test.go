package plugintest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/numbers/series"
	"github.com/snowlease/snowlease/snowflake"
)

type shardedNeighbor struct {
	ID     int64 `gorm:"primaryKey;autoIncrement:false"`
	Number int64 `idworker:"series=bills"`
}

type (
	shardedBill struct {
		ID     int64 `gorm:"primaryKey;autoIncrement:false"`
		UserID int64
		Number int64 `gorm:"<-:create" idworker:"series=bills,scope=UserID"`
	}
	shardedItem struct { // not sharded itself
		ID            int64 `gorm:"primaryKey;autoIncrement:false"`
		ShardedBillID int64
		ShardedBill   *shardedBill `gorm:"constraint:-"`
	}
)

// gorm.io/sharding wraps the pool of each statement, and takes GORM's own transaction from it. A gapless
// number needs one of the application.
func TestGaplessBesideSharding(t *testing.T) {
	t.Parallel()
	dsn, _ := newDatabase(t)
	db := open(t, dsn)
	require.NoError(t, db.AutoMigrate(&shardedNeighbor{})) // not sharded itself
	store, err := dbseq.OpenSegments("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	bills, err := series.Open(t.Context(), store, series.Config{Name: "bills", Gapless: true})
	require.NoError(t, err)

	g, err := generator.New(snowflake.Layout{})
	require.NoError(t, err)
	now := time.Now().UnixMilli()
	_, err = g.Adopt(generator.Range{Worker: worker, Floor: now - 1, Ceiling: now + time.Hour.Milliseconds(), Now: now, At: g.Elapsed()})
	require.NoError(t, err)
	plugin := gormplugin.New(g, gormplugin.Config{Series: func(string) (*series.Series, error) { return bills, nil }})
	require.NoError(t, db.AutoMigrate(&shardedItem{}))
	for i := range shards {
		require.NoError(t, db.Table(fmt.Sprintf("sharded_bills_%d", i)).AutoMigrate(&shardedBill{}))
	}
	for _, p := range []gorm.Plugin{plugin, shardBy("sharded_bills")} {
		require.NoError(t, db.Use(p))
	}
	stored := shardedBill{UserID: 5}
	require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return tx.Create(&stored).Error }))
	require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return tx.Create(&shardedItem{ShardedBill: &stored}).Error }), "which looks in its shard")
	require.EqualValues(t, 1, stored.Number)
	bills, err = series.Open(t.Context(), store, series.Config{Name: "neighbors", Gapless: true})
	require.NoError(t, err)

	require.ErrorIs(t, db.Create(&shardedNeighbor{ID: 1}).Error, gormplugin.ErrSeries, "GORM begins no transaction")
	for id := range int64(2) {
		row := shardedNeighbor{ID: 1}
		err := db.Transaction(func(tx *gorm.DB) error { return tx.Create(&row).Error })
		if id > 0 {
			require.NotErrorIs(t, err, gormplugin.ErrSeries)
			require.Error(t, err, "a duplicate key, whose number is taken back")
			row.ID = 2
			err = db.Transaction(func(tx *gorm.DB) error { return tx.Create(&row).Error })
		}
		require.NoError(t, err)
		require.Equal(t, id+1, row.Number)
	}
}
