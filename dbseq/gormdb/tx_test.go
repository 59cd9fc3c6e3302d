package gormdb_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/numbers"
)

// A Bill is numbered in a hook, or when it is posted.
type Bill struct {
	ID     int64   `gorm:"primaryKey;autoIncrement:false"`
	Tenant string  `gorm:"size:36;not null;uniqueIndex:bill_number"`
	Number *string `gorm:"size:20;uniqueIndex:bill_number"`

	from *numbers.Series // nil leaves it without a number
}

func (b *Bill) BeforeCreate(tx *gorm.DB) error {
	if b.from == nil {
		return nil
	}
	number, err := b.from.NextTx(tx.Statement.Context, gormdb.Tx(tx), b.Tenant)
	text := number.String()
	b.Number = &text
	return err
}

// onEachTx runs f on each engine, with and without prepared statements.
func onEachTx(t *testing.T, f func(t *testing.T, db *gorm.DB, store *sqlnumbers.Store, bills *numbers.Series)) {
	t.Parallel()
	for name, e := range engines {
		for what, prepare := range map[string]bool{"": false, " prepared": true} {
			t.Run(name+what, func(t *testing.T) {
				t.Parallel()
				db := open(t, e.open(e.dsn(t)), &gorm.Config{PrepareStmt: prepare}).WithContext(t.Context())
				require.NoError(t, db.AutoMigrate(&Bill{}))
				center, err := gormdb.Center(db)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, center.Close()) })
				store := center.Numbers().(*sqlnumbers.Store)
				bills, err := numbers.OpenSeries(t.Context(), store, numbers.SeriesConfig{Namespace: "shop", Name: "bills", Format: "B{000}", Gapless: true})
				require.NoError(t, err)
				f(t, db, store, bills)
			})
		}
	}
}

// numbersOf requires the numbers of a tenant, by id.
func numbersOf(t *testing.T, db *gorm.DB, tenant string, want ...string) {
	t.Helper()
	var got []string
	require.NoError(t, db.Model(&Bill{}).Where("tenant = ? AND number IS NOT NULL", tenant).Order("id").Pluck("number", &got).Error)
	require.Equal(t, want, got)
}

// TestTxInAHook: GORM's own transaction has the number, and takes it back if the INSERT fails.
func TestTxInAHook(t *testing.T) {
	onEachTx(t, func(t *testing.T, db *gorm.DB, _ *sqlnumbers.Store, bills *numbers.Series) {
		require.NoError(t, db.Create(&Bill{ID: 1, Tenant: "a", from: bills}).Error)
		require.Error(t, db.Create(&Bill{ID: 1, Tenant: "a", from: bills}).Error, "a duplicate key")
		list := []Bill{{ID: 2, Tenant: "a", from: bills}, {ID: 3, Tenant: "b", from: bills}, {ID: 4, Tenant: "a", from: bills}}
		require.NoError(t, db.Create(&list).Error)
		numbersOf(t, db, "a", "B001", "B002", "B003")
		numbersOf(t, db, "b", "B001")
	})
}

// TestTxRolledBack: a transaction that is rolled back gives its number back, and so does a nested one,
// while the outer one goes on.
func TestTxRolledBack(t *testing.T) {
	onEachTx(t, func(t *testing.T, db *gorm.DB, _ *sqlnumbers.Store, bills *numbers.Series) {
		back := errors.New("rolled back")
		create := func(tx *gorm.DB, id int64, then error) error {
			return tx.Transaction(func(tx *gorm.DB) error {
				return errors.Join(tx.Create(&Bill{ID: id, Tenant: "a", from: bills}).Error, then)
			})
		}
		require.ErrorIs(t, create(db, 1, back), back)
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			require.NoError(t, create(tx, 1, nil))
			require.ErrorIs(t, create(tx, 2, back), back)
			return create(tx, 3, nil)
		}))
		tx := db.Begin()
		require.NoError(t, create(tx, 4, nil))
		require.NoError(t, tx.Rollback().Error)
		require.NoError(t, create(db, 5, nil))
		numbersOf(t, db, "a", "B001", "B002", "B003")
	})
}

// TestTxOfNone: without a transaction, the use of it is an error, and nothing is taken or stored.
func TestTxOfNone(t *testing.T) {
	onEachTx(t, func(t *testing.T, db *gorm.DB, store *sqlnumbers.Store, bills *numbers.Series) {
		bare := db.Session(&gorm.Session{SkipDefaultTransaction: true})
		for range 2 { // before and after the tenant's first number
			for _, none := range []*gorm.DB{nil, {}, db, bare, db.Session(&gorm.Session{PrepareStmt: true})} {
				_, err := bills.NextTx(t.Context(), gormdb.Tx(none), "a")
				require.ErrorIs(t, err, numbers.ErrTransaction)
			}
			err := bare.Create(&Bill{ID: 1, Tenant: "a", from: bills}).Error
			require.ErrorIs(t, err, numbers.ErrTransaction)
			require.ErrorContains(t, err, "SkipDefaultTransaction")
			var n int64
			require.NoError(t, db.Model(&Bill{}).Count(&n).Error)
			require.NoError(t, db.Create(&Bill{Tenant: "a", ID: 2 + n, from: bills}).Error)
		}
		numbersOf(t, db, "a", "B001", "B002")
		require.NoError(t, bills.Healthy(), "it is no fault of the store")
		given, err := store.HighWater(t.Context(), "shop/bills.a")
		require.NoError(t, err)
		require.EqualValues(t, 2, given)
		_, err = store.HighWater(t.Context(), "shop/bills.b")
		require.ErrorIs(t, err, numbers.ErrUnknown)
	})
}

// A createdBill has a number that only Create writes.
type createdBill struct {
	ID     int64  `gorm:"primaryKey;autoIncrement:false"`
	Number string `gorm:"<-:create;size:20;uniqueIndex"`

	from *numbers.Series
}

func (b *createdBill) BeforeCreate(tx *gorm.DB) error {
	number, err := b.from.NextTx(tx.Statement.Context, gormdb.Tx(tx), "")
	b.Number = number.String()
	return err
}

// TestTxOfAnUpsert: the hook runs for a row that is there too, which keeps its number, and the new one is
// a gap.
func TestTxOfAnUpsert(t *testing.T) {
	onEachTx(t, func(t *testing.T, db *gorm.DB, store *sqlnumbers.Store, bills *numbers.Series) {
		require.NoError(t, db.AutoMigrate(&createdBill{}))
		for range 2 {
			require.NoError(t, db.Save(&[]createdBill{{ID: 1, from: bills}}).Error)
		}
		var stored createdBill
		require.NoError(t, db.Take(&stored, 1).Error)
		require.Equal(t, "B001", stored.Number)
		given, err := store.HighWater(t.Context(), "shop/bills.")
		require.NoError(t, err)
		require.EqualValues(t, 2, given)
	})
}
