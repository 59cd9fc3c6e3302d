package plugintest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/sharding"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/snowflake"
)

type Order struct {
	gormplugin.Model
	UserID int64
	Total  int64
}

// Numbered looks to GORM like a model with AUTO_INCREMENT.
type Numbered struct {
	gorm.Model
	UserID int64
}

const shards = 4

// shardBy leaves the keys to gormplugin. PKCustom with a function that makes none
// stops the sharding plugin from adding its own keys, which collide between processes.
func shardBy(tables ...any) *sharding.Sharding {
	return sharding.Register(sharding.Config{
		ShardingKey:           "user_id",
		NumberOfShards:        shards,
		PrimaryKeyGenerator:   sharding.PKCustom,
		PrimaryKeyGeneratorFn: func(int64) int64 { return 0 },
	}, tables...)
}

func TestSharding(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("gormplugin first %v", first), func(t *testing.T) {
			t.Parallel()
			dsn, other := newDatabase(t)
			db := open(t, dsn)
			for i := range shards {
				for table, model := range map[string]any{"orders": &Order{}, "numbereds": &Numbered{}} {
					// Index names derive from the table name.
					require.NoError(t, db.Table(fmt.Sprintf("%s_%d", table, i)).AutoMigrate(model))
				}
			}
			plugins := []gorm.Plugin{newPlugin(t), shardBy("orders", "numbereds")}
			if !first {
				plugins[0], plugins[1] = plugins[1], plugins[0]
			}
			for _, p := range plugins {
				require.NoError(t, db.Use(p))
			}

			row := Order{UserID: 5}
			require.NoError(t, db.Create(&row).Error)
			rows := []*Order{{UserID: 2}, {UserID: 6}, {UserID: 2}} // one INSERT goes to one shard
			require.NoError(t, db.Create(rows).Error)
			batches := []Order{{UserID: 3}, {UserID: 3}, {UserID: 7}}
			require.NoError(t, db.CreateInBatches(&batches, 2).Error)
			m := map[string]any{"user_id": int64(8)}
			require.NoError(t, db.Model(&Order{}).Create(m).Error)
			inside := Order{UserID: 1}
			require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return tx.Create(&inside).Error }))

			stored(t, other, "orders_0", m["id"].(int64))
			stored(t, other, "orders_1", row.ID, inside.ID)
			stored(t, other, "orders_2", rows[0].ID, rows[1].ID, rows[2].ID)
			stored(t, other, "orders_3", batches[0].ID, batches[1].ID, batches[2].ID)

			numbered := []Numbered{{UserID: 2}, {UserID: 2}}
			require.NoError(t, db.Create(&numbered).Error)
			stored(t, other, "numbereds_2", int64(numbered[0].ID), int64(numbered[1].ID))

			var back Order
			require.NoError(t, db.Where("user_id = ?", int64(5)).Take(&back, "id = ?", row.ID).Error)
			require.Equal(t, row.ID, back.ID)
		})
	}
}

// Unnumbered has no id of its own when it is inserted.
type Unnumbered struct {
	ID     int64
	UserID int64
}

// shardInKey issues keys that carry the shard of their row, as those of sharding.PKSnowflake do.
// Tables of ten shards or more end in "_%02d".
func shardInKey(w *snowlease.Worker) sharding.Config {
	return sharding.Config{
		ShardingKey: "user_id", NumberOfShards: shards,
		PrimaryKeyGenerator: sharding.PKCustom, // before: sharding.PKSnowflake
		PrimaryKeyGeneratorFn: func(shard int64) int64 {
			stream, err := w.For(shard)
			if err != nil {
				return 0
			}
			id, _ := stream.NextID()
			return id // 0 on an error: the row has no key
		},
		ShardingAlgorithmByPrimaryKey: func(id int64) string { return fmt.Sprintf("_%d", id>>12&(shards-1)) },
	}
}

// TestShardInTheKey: rows with keys of PKSnowflake, and those with ids that have the shard in
// the same bits, are found by the key alone.
func TestShardInTheKey(t *testing.T) {
	t.Parallel()
	dsn, other := newDatabase(t)
	for i := range shards {
		require.NoError(t, open(t, dsn).Table(fmt.Sprintf("unnumbereds_%d", i)).AutoMigrate(&Unnumbered{}))
	}
	layout := snowflake.Twitter()
	layout.WorkerBits, layout.BusinessBits = 8, 2
	w, err := snowlease.Fixed(1, snowlease.Config{Layout: layout})
	require.NoError(t, err)
	old := sharding.Config{ShardingKey: "user_id", NumberOfShards: shards, PrimaryKeyGenerator: sharding.PKSnowflake}
	db := open(t, dsn)
	for _, c := range []sharding.Config{old, shardInKey(w)} {
		db = open(t, dsn)
		require.NoError(t, db.Use(sharding.Register(c, "unnumbereds")))
		for user := range int64(8) {
			require.NoError(t, db.Create([]Unnumbered{{UserID: user}, {UserID: user}}).Error)
		}
	}
	for shard := range shards {
		rows, err := other.Query(fmt.Sprintf("SELECT id, user_id FROM unnumbereds_%d", shard))
		require.NoError(t, err)
		defer rows.Close()
		n := 0
		for ; rows.Next(); n++ {
			var want, got Unnumbered
			require.NoError(t, rows.Scan(&want.ID, &want.UserID))
			require.NoError(t, db.Take(&got, "id = ?", want.ID).Error)
			require.Equal(t, want, got)
		}
		require.NoError(t, rows.Err())
		require.Equal(t, 8, n)
	}
}
