package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/numbers/series"
	"github.com/snowlease/snowlease/publicid"
)

type (
	// An Bill is numbered without gaps, and counted per customer.
	Bill struct {
		ID      int64  `gorm:"primaryKey"`
		PayerID int64  `gorm:"uniqueIndex:number"`
		Number  string `gorm:"size:36;uniqueIndex:number" idworker:"series=invoices,scope=PayerID"`
		Text    string `gorm:"size:36"`
		Refuse  bool   `gorm:"-"`
	}
	Payer struct {
		Name  string
		ID    int64  `gorm:"primaryKey"`
		Bills []Bill `gorm:"constraint:-"`
	}
	// A Receipt belongs to a customer that is saved before it.
	Receipt struct {
		ID      int64 `gorm:"primaryKey"`
		PayerID int64
		Payer   Payer `gorm:"constraint:-"`
		Number  int64 `idworker:"series=receipts,scope=PayerID"`
	}
)

// A Ticket has a number with gaps.
type Ticket struct {
	ID     int64  `gorm:"primaryKey"`
	Shop   string `gorm:"size:36"`
	Number *int   `idworker:"series=all,scope=Shop"`
}

func (i *Ticket) BeforeCreate(*gorm.DB) error {
	i.Shop = map[string]string{"": "hooked", "moves": "moved"}[i.Shop] + strings.TrimPrefix(i.Shop, "moves")
	return nil
}

func (i *Bill) AfterCreate(*gorm.DB) error {
	if i.Refuse {
		return errors.New("refused")
	}
	return nil
}

// A registry has the series of a database.
type registry struct{ all map[string]*series.Series }

// open opens the series on a database.
func (r *registry) open(t testing.TB, db *gorm.DB) {
	t.Helper()
	store, err := gormdb.Segments(db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	r.all = map[string]*series.Series{}
	for _, cfg := range []series.Config{
		{Name: "invoices", Format: "INV-{scope}-{000}", Gapless: true},
		{Name: "receipts", Gapless: true},
		{Name: "all"},
	} {
		r.all[cfg.Name], err = series.Open(t.Context(), store, cfg)
		require.NoError(t, err)
	}
}

func (r *registry) of(name string) (*series.Series, error) {
	if s, ok := r.all[name]; ok || name == "nil" {
		return s, nil
	}
	return nil, fmt.Errorf("%q is unknown", name)
}

// onEachSeries runs f on each dialect with a plugin that knows the series.
func onEachSeries(t *testing.T, f func(t *testing.T, db *gorm.DB)) {
	t.Helper()
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			open1, _ := d.open(t)
			var r registry
			db := open(t, open1(), gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}),
				&Payer{}, &Bill{}, &Receipt{})
			r.open(t, db)
			f(t, db)
		})
	}
}

// numbersOf returns the stored numbers of a customer, sorted.
func numbersOf(t *testing.T, db *gorm.DB, customer int64) (numbers []string) {
	t.Helper()
	require.NoError(t, db.Model(&Bill{}).Where("payer_id = ? AND number IS NOT NULL", customer).Order("number").Pluck("number", &numbers).Error)
	return numbers
}

// TestSeriesWithoutGaps: each way to create rows numbers them per customer, from the first number
// on and in their order, and what fails leaves no gap.
func TestSeriesWithoutGaps(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		one := Bill{PayerID: 7}
		require.NoError(t, db.Create(&one).Error)
		require.Equal(t, "INV-7-001", one.Number)

		refused := Bill{PayerID: 7, Refuse: true}
		require.ErrorContains(t, db.Create(&refused).Error, "refused")
		require.Equal(t, "INV-7-002", refused.Number, "of a transaction that was rolled back")

		batch := []*Bill{{PayerID: 8}, {PayerID: 7}, {PayerID: 8}, {PayerID: 7, Number: "INV-7-002"}}
		require.NoError(t, db.Create(&batch).Error)
		require.Equal(t, []string{"INV-8-001", "INV-7-002", "INV-8-002", "INV-7-003"}, []string{batch[0].Number, batch[1].Number, batch[2].Number, batch[3].Number})

		refused.Refuse = false
		require.NoError(t, db.Create(&refused).Error, "again, with the number that another row has by now")
		require.Equal(t, "INV-7-004", refused.Number)

		rows := make([]Bill, 5)
		for i := range rows {
			rows[i].PayerID = 7
		}
		require.NoError(t, db.CreateInBatches(&rows, 2).Error)
		require.ErrorContains(t, db.Transaction(func(tx *gorm.DB) error {
			require.NoError(t, tx.Create(&Bill{PayerID: 7}).Error)
			return errors.New("rolled back")
		}), "rolled back")
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			_ = tx.Transaction(func(tx *gorm.DB) error { // a savepoint
				require.NoError(t, tx.Create(&Bill{PayerID: 7}).Error)
				return errors.New("rolled back")
			})
			return tx.Create(&Bill{PayerID: 7}).Error
		}))
		require.NoError(t, db.Session(&gorm.Session{PrepareStmt: true}).Create(&Bill{PayerID: 7}).Error)
		family := Payer{ID: 7, Bills: make([]Bill, 2)}
		require.NoError(t, db.Create(&family).Error)
		var want []string
		for i := range 13 {
			want = append(want, fmt.Sprintf("INV-7-%03d", i+1))
		}
		require.Equal(t, want, numbersOf(t, db, 7))
		require.Equal(t, want[11:], []string{family.Bills[0].Number, family.Bills[1].Number})

		receipt := Receipt{Payer: Payer{Name: "Ada"}}
		require.NoError(t, db.Create(&receipt).Error)
		require.EqualValues(t, 1, receipt.Number)
	})
}

// TestSeriesWithGaps: a series with gaps fills what has no number yet, before the transaction, or in
// it where only a hook knows the scope.
func TestSeriesWithGaps(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.AutoMigrate(&Ticket{}))
		number := 70
		rows := []Ticket{{Shop: "a"}, {Shop: "b", Number: &number}, {Shop: "a"}, {Shop: "b"}}
		require.NoError(t, db.Create(&rows).Error)
		require.Equal(t, []int{1, 70, 2, 1}, []int{*rows[0].Number, *rows[1].Number, *rows[2].Number, *rows[3].Number})
		if db.Name() == "sqlite" { // whose only lock the transaction has
			return
		}
		hooked := Ticket{}
		require.NoError(t, db.Create(&hooked).Error)
		require.Equal(t, "hooked", hooked.Shop)
		require.Equal(t, 1, *hooked.Number)
	})
}

// On the SQLite file that its own transaction has locked, a statement waits for Config.Wait.
func TestSeriesWithGapsWaits(t *testing.T) {
	t.Parallel()
	var r registry
	dsn := strings.ReplaceAll(sqliteDSN(t), "busy_timeout(5000)", "busy_timeout(10)")
	db := open(t, sqlite.Open(dsn), gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of, Wait: 50 * time.Millisecond}), &Ticket{})
	r.open(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	hooked := Ticket{}
	err := db.WithContext(ctx).Create(&hooked).Error
	require.ErrorContains(t, err, "no ids or numbers within the 50ms of gormplugin.Config.Wait")
	require.NoError(t, ctx.Err())
	require.Zero(t, hooked.ID)
	require.ErrorIs(t, db.First(&hooked).Error, gorm.ErrRecordNotFound)
}

// A mailedBill has another unique column than its key.
type mailedBill struct {
	ID      int64 `gorm:"primaryKey"`
	PayerID int64
	Number  string `gorm:"size:36" idworker:"series=invoices,scope=PayerID"`
	Mail    string `gorm:"size:36;unique"`
	Text    string `gorm:"size:36"`
}

// TestSeriesThatWouldGap: what would leave a gap or number a row apart fails, and takes no number.
func TestSeriesThatWouldGap(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.Create(&Bill{ID: 5, PayerID: 7}).Error)
		require.NoError(t, db.AutoMigrate(&mailedBill{}))
		require.NoError(t, db.Set(gormplugin.SkipKey, true).Create(&mailedBill{ID: 5, PayerID: 7, Mail: "a"}).Error)
		for says, err := range map[string]error{
			"an upsert would replace":   db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Bill{ID: 6, PayerID: 7}).Error,
			"a row with the key [5] is": db.Clauses(clause.OnConflict{DoNothing: true}).Create(&[]Bill{{ID: 5, PayerID: 7}, {PayerID: 7}}).Error,
			"PayerID, which says whose": db.Create(&Bill{}).Error,
			"a map cannot be numbered":  db.Model(&Bill{}).Create(map[string]any{"PayerID": 7}).Error,
			"use db.Transaction":        db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&Bill{PayerID: 7}).Error,
		} {
			require.ErrorIs(t, err, gormplugin.ErrSeries, says)
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, "Bill.Number", says)
		}
		err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&[]mailedBill{{PayerID: 7, Mail: "a"}, {PayerID: 7, Mail: "b"}}).Error
		require.ErrorIs(t, err, gormplugin.ErrSeries)
		require.ErrorContains(t, err, "mailedBill.Number: 1 of 2 rows were not inserted")
		require.ErrorContains(t, db.Transaction(func(tx *gorm.DB) error {
			return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}).Create(&Bill{ID: 5, PayerID: 7}).Error
		}), "a row with the key [5] is stored with another number")
		require.NoError(t, db.Session(&gorm.Session{SkipDefaultTransaction: true}).Transaction(func(tx *gorm.DB) error {
			return tx.Create(&Bill{PayerID: 7}).Error
		}))
		imported := Bill{PayerID: 7, Number: "INV-7-000"}
		require.NoError(t, db.Set(gormplugin.SkipKey, true).Create(&imported).Error)
		require.Equal(t, []string{"INV-7-000", "INV-7-001", "INV-7-002"}, numbersOf(t, db, 7))
		require.NoError(t, db.Session(&gorm.Session{DryRun: true}).Create(&Bill{PayerID: 7}).Error)
		ended, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, db.WithContext(ended).Create(&Bill{PayerID: 7}).Error, context.Canceled)
		require.NoError(t, db.Create(&Bill{PayerID: 7}).Error)
		require.Equal(t, "INV-7-003", numbersOf(t, db, 7)[3])
	})
}

// TestSeriesOfChildren: a child that is not stored with its number gets another one, such as one of a
// transaction that was rolled back, or one that came with a request. A child that is stored keeps
// its number, and its payer.
func TestSeriesOfChildren(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		family := Payer{ID: 7, Bills: make([]Bill, 2)}
		require.ErrorContains(t, db.Transaction(func(tx *gorm.DB) error {
			require.NoError(t, tx.Create(&family).Error)
			return errors.New("rolled back")
		}), "rolled back")
		require.NoError(t, db.Create(&Bill{PayerID: 7}).Error)
		require.NoError(t, db.Create(&family).Error)
		require.Equal(t, []string{"INV-7-002", "INV-7-003"}, []string{family.Bills[0].Number, family.Bills[1].Number})
		require.NoError(t, db.Create(&Bill{PayerID: 7}).Error)
		require.Equal(t, []string{"INV-7-001", "INV-7-002", "INV-7-003", "INV-7-004"}, numbersOf(t, db, 7))

		asked := Payer{ID: 8, Bills: []Bill{{Number: "INV-7-001"}, {Number: "INV-8-999"}, {}}}
		require.NoError(t, db.Create(&asked).Error)
		require.Equal(t, []string{"INV-8-001", "INV-8-002", "INV-8-003"}, numbersOf(t, db, 8))

		asked.Bills = append(asked.Bills, Bill{})
		require.NoError(t, db.Session(&gorm.Session{FullSaveAssociations: false}).Save(&asked).Error)
		require.Equal(t, []string{"INV-8-001", "INV-8-002", "INV-8-003", "INV-8-004"}, numbersOf(t, db, 8))
		moved := Payer{ID: 9, Bills: asked.Bills[:1]}
		require.ErrorIs(t, db.Create(&moved).Error, gormplugin.ErrSeries)
		require.Equal(t, []string{"INV-8-001", "INV-8-002", "INV-8-003", "INV-8-004"}, numbersOf(t, db, 8))
	})
}

// TestSeriesColumns: a number is taken only for a column that is inserted, and for a row that is
// listed once.
func TestSeriesColumns(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		omitted := Bill{PayerID: 7}
		require.NoError(t, db.Omit("Number").Create(&omitted).Error)
		require.Empty(t, omitted.Number)
		require.NoError(t, db.Select("PayerID", "Text").Create(&Bill{PayerID: 7}).Error)
		require.ErrorContains(t, db.Omit("PayerID").Create(&Bill{PayerID: 7}).Error, "PayerID, which says whose number it is, is not inserted")
		require.ErrorContains(t, db.Select("Number").Create(&Bill{PayerID: 7}).Error, "PayerID")
		twice := &Bill{ID: 1, PayerID: 7}
		require.ErrorContains(t, db.Create(&[]*Bill{twice, twice}).Error, "listed twice")
		require.NoError(t, db.Create(&Bill{PayerID: 7}).Error)
		require.Equal(t, []string{"INV-7-001", "INV-7-002"}, numbersOf(t, db, 7))
	})
}

// TestSeriesByHooks: a hook that changes the scope of a row that has a number by then gives it one
// of its own.
func TestSeriesByHooks(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" { // whose only lock the transaction has
			return
		}
		require.NoError(t, db.AutoMigrate(&Ticket{}))
		rows := []Ticket{{Shop: "moves"}, {Shop: "moved"}}
		require.NoError(t, db.Create(&rows).Error)
		require.Equal(t, "moved", rows[0].Shop)
		require.NotEqual(t, *rows[0].Number, *rows[1].Number)
	})
}

// TestSeriesThatDoNotFit: a number that the field cannot hold is an error.
func TestSeriesThatDoNotFit(t *testing.T) {
	t.Parallel()
	type (
		Small struct {
			ID     int64
			Number int8 `idworker:"series=receipts"`
		}
		Short struct {
			ID     int64
			Number string `gorm:"size:5" idworker:"series=receipts"`
		}
		Pointed struct {
			ID     int64
			Shop   []byte
			Number int64 `idworker:"series=receipts,scope=Shop"`
		}
	)
	var r registry
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}), &Small{}, &Short{}, &Pointed{})
	r.open(t, db)
	require.ErrorContains(t, db.Create(&[]Small{127: {}}).Error, "too small for 128")
	require.ErrorContains(t, db.Create(&Short{}).Error, "too small for 000001")
	require.ErrorContains(t, db.Create(&Pointed{Shop: []byte("a")}).Error, "neither a text nor a whole number")
	require.ErrorContains(t, db.Model(&Small{}).Create(&Short{}).Error, "")
}

// TestSeriesTags: a tag that cannot be followed is an error of the statement.
func TestSeriesTags(t *testing.T) {
	t.Parallel()
	type (
		Unknown struct {
			ID     int64
			Number string `idworker:"series=nobody"`
		}
		Scopeless struct {
			ID     int64
			Number string `idworker:"series=all,scope=Nobody"`
		}
		Truth struct {
			ID     int64
			Number bool `idworker:"series=all"`
		}
		Turned struct {
			ID     int64
			Number string `idworker:"scope=ID,series=all"`
		}
		Loose struct {
			ID     int64
			Number string `idworker:"series=all,scope="`
		}
		Late struct {
			ID     int64
			Number string `gorm:"<-:update" idworker:"series=all"`
		}
		Nothing struct {
			ID     int64
			Number string `idworker:"series=nil"`
		}
		Keyed struct {
			Number string `gorm:"primaryKey" idworker:"series=all"`
		}
	)
	models := map[string]any{
		`series "nobody"`: &Unknown{}, `no field "Nobody"`: &Scopeless{}, "neither a text nor": &Truth{}, "write series=NAME": &Turned{}, `no field ""`: &Loose{}, "not written by Create": &Late{}, "returned no series": &Nothing{}, "a series fills no primary key": &Keyed{},
	}
	var r registry
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}))
	r.open(t, db)
	for says, model := range models {
		require.NoError(t, db.AutoMigrate(model))
		require.ErrorContains(t, db.Create(model).Error, says)
	}
	without := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{}), &Unknown{})
	require.ErrorContains(t, without.Create(&Unknown{}).Error, "there are no series")
}

type (
	rotatedPayer struct{}
	rotatedBill  struct {
		ID      int64 `gorm:"primaryKey;autoIncrement:false"`
		PayerID publicid.ID[rotatedPayer]
		Number  int64 `idworker:"series=receipts,scope=PayerID"`
	}
)

var rotatedCodec atomic.Pointer[publicid.Codec]

func (rotatedPayer) Codec() *publicid.Codec { return rotatedCodec.Load() }

// TestScopeOfAReplacedSecret: a tenant is known by what is stored, not by a text that changes with a
// secret.
func TestScopeOfAReplacedSecret(t *testing.T) {
	older, newer := []byte("an old secret of the tests, 32 b"), []byte("a new secret of the tests, 32 by")
	var r registry
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}), &rotatedBill{})
	r.open(t, db)

	rotatedCodec.Store(publicid.Must(publicid.NewSealed("p", older, newer)))
	first := rotatedBill{PayerID: 7}
	require.NoError(t, db.Create(&first).Error)
	require.EqualValues(t, 1, first.Number)

	rotatedCodec.Store(publicid.Must(publicid.NewSealed("p", newer, older)))
	second := rotatedBill{PayerID: 7}
	require.NoError(t, db.Create(&second).Error)
	require.EqualValues(t, 2, second.Number)
}

// A row that belongs to a stored row with a gapless number: GORM saves the parent with DO NOTHING.
type paidBill struct {
	ID     int64 `gorm:"primaryKey"`
	Text   string
	BillID int64
	Bill   *Bill `gorm:"constraint:-"`
}

// TestStoredParentKeepsItsNumber: GORM saves a parent with DO NOTHING, also one that is stored.
func TestStoredParentKeepsItsNumber(t *testing.T) {
	t.Parallel()
	var r registry
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}), &Payer{}, &Bill{}, &paidBill{})
	r.open(t, db)
	bill := Bill{PayerID: 7}
	require.NoError(t, db.Create(&bill).Error)
	require.Equal(t, "INV-7-001", bill.Number)

	err := db.Create(&paidBill{Bill: &bill}).Error
	require.Equal(t, "INV-7-001", bill.Number)
	require.NoError(t, err)

	var paid paidBill
	require.NoError(t, db.Preload("Bill").Take(&paid).Error)
	paid.Text = "changed"
	require.NoError(t, db.Save(&paid).Error)
	require.Equal(t, "INV-7-001", paid.Bill.Number)
	require.Equal(t, []string{"INV-7-001"}, numbersOf(t, db, 7))
}

type (
	narrowNumber struct {
		ID     int64 `gorm:"primaryKey;autoIncrement:false"`
		Number int64 `gorm:"size:8" idworker:"series=receipts"`
	}
	narrowText struct {
		ID     int64  `gorm:"primaryKey;autoIncrement:false"`
		Number string `gorm:"type:varchar(7)" idworker:"series=invoices"` // INV--001 has eight
	}
	declared struct {
		ID     int64 `gorm:"primaryKey;autoIncrement:false"`
		Number int64 `gorm:"type:bigint" idworker:"series=receipts"`
	}
)

// TestSeriesInANarrowColumn: MySQL without a strict sql_mode would store the greatest number that the
// column holds, or a part of the text, again and again.
func TestSeriesInANarrowColumn(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.AutoMigrate(&narrowNumber{}, &narrowText{}, &declared{}))
		if db.Name() != "sqlite" { // whose texts have no limit
			require.ErrorIs(t, db.Create(&narrowText{}).Error, gormplugin.ErrSeries)
		}
		rows := make([]narrowNumber, 127)
		require.NoError(t, db.Create(&rows).Error)
		require.ErrorIs(t, db.Create(&narrowNumber{}).Error, gormplugin.ErrSeries)
		require.NoError(t, db.Create(&declared{}).Error)
	})
}
