package plugintest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/numbers/series"
)

// A Bill is numbered by its hook.
type Bill struct {
	ID     int64 `gorm:"primaryKey;autoIncrement:false"`
	UserID int64
	Number int64

	from *series.Series
}

func (b *Bill) BeforeCreate(tx *gorm.DB) error {
	if b.from == nil {
		return nil
	}
	number, err := b.from.NextTx(tx.Statement.Context, gormdb.Tx(tx), "")
	b.Number = number.Value
	return err
}

func newBills(t *testing.T, dsn string) *series.Series {
	center, err := dbseq.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = center.Close() })
	bills, err := series.Open(t.Context(), center.Numbers(), series.Config{Namespace: "shop", Name: "bills", Gapless: true})
	require.NoError(t, err)
	return bills
}

// gorm.io/sharding wraps the pool of each statement, whether there is a transaction or not. A hook gets
// an error; the function of a transaction gets a number.
func TestGaplessBesideSharding(t *testing.T) {
	t.Parallel()
	dsn, _ := newDatabase(t)
	db, bills := open(t, dsn), newBills(t, dsn)
	for i := range shards {
		require.NoError(t, db.Table(fmt.Sprintf("bills_%d", i)).AutoMigrate(&Bill{}))
	}
	require.NoError(t, db.Use(shardBy("bills")))
	hooked := func(tx *gorm.DB) error { return tx.Create(&Bill{ID: 1, UserID: 5, from: bills}).Error }
	require.ErrorIs(t, hooked(db), series.ErrTransaction)
	require.ErrorIs(t, db.Transaction(hooked), series.ErrTransaction)
	for id := range int64(2) {
		for _, again := range []bool{false, true} {
			err := db.Transaction(func(tx *gorm.DB) error {
				number, err := bills.NextTx(t.Context(), gormdb.Tx(tx), "")
				require.NoError(t, err)
				require.Equal(t, id+1+map[bool]int64{true: 1}[again], number.Value)
				return tx.Create(&Bill{ID: id, UserID: 5, Number: number.Value}).Error
			})
			require.Equal(t, again, err != nil, "a duplicate key, whose number is taken back")
		}
	}
}
