package gormplugin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/numbers/series"
)

type (
	// NumberedBase is a base whose field Number an outer field of the same name replaces: to GORM the
	// nearer one is the column. (It is exported, since GORM skips embedded structs that are not.)
	NumberedBase struct {
		PayerID int64
		Number  string `gorm:"size:36" idworker:"series=invoices,scope=PayerID"`
	}
	shadowedNumber struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false"`
		NumberedBase
		Number string `gorm:"size:40"`
	}
	shadowedTwice struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false"`
		NumberedBase
		Number string `gorm:"size:40" idworker:"series=invoices,scope=PayerID"`
	}
)

// TestSeriesOfAShadowedField: a field whose column is that of a nearer one takes no number.
func TestSeriesOfAShadowedField(t *testing.T) {
	t.Parallel()
	var r registry
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}), &Payer{}, &Bill{}, &shadowedNumber{}, &shadowedTwice{})
	r.open(t, db)
	require.NoError(t, db.Create(&shadowedNumber{NumberedBase: NumberedBase{PayerID: 7}}).Error)
	one := Bill{PayerID: 7}
	require.NoError(t, db.Create(&one).Error)
	require.Equal(t, "INV-7-001", one.Number, "a row without a numbered column has taken a gapless number")

	var got []string
	for range 2 {
		row := shadowedTwice{NumberedBase: NumberedBase{PayerID: 8}}
		require.NoError(t, db.Create(&row).Error)
		got = append(got, row.Number)
	}
	require.Equal(t, []string{"INV-8-001", "INV-8-002"}, got)
}

// NumberedRef is a base with a prefix, which has a field of the same name as the model.
type (
	NumberedRef struct {
		PayerID int64
	}
	sameName struct {
		ID      int64 `gorm:"primaryKey;autoIncrement:false"`
		PayerID int64
		Number  string      `gorm:"size:36" idworker:"series=invoices,scope=PayerID"`
		Ref     NumberedRef `gorm:"embedded;embeddedPrefix:ref_"` // behind PayerID: GORM's FieldsByName has this one
	}
)

// TestSeriesScopeOfTheSameName: the scope is the field beside the number, not another of its name.
func TestSeriesScopeOfTheSameName(t *testing.T) {
	t.Parallel()
	var r registry
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}), &sameName{})
	r.open(t, db)
	row := sameName{PayerID: 7, Ref: NumberedRef{PayerID: 99}}
	if err := db.Create(&row).Error; err != nil {
		require.ErrorIs(t, err, gormplugin.ErrSeries) // a clear refusal is fine too
		return
	}
	require.Equal(t, "INV-7-001", row.Number)
}

// TestSeriesSaveOfAStoredRow: on MySQL, GORM upserts a row that an UPDATE does not change; it upserts lists
// and associations everywhere. A stored row keeps its number.
func TestSeriesSaveOfAStoredRow(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.Create(&Bill{ID: 5, PayerID: 7}).Error)
		var bill Bill
		require.NoError(t, db.Take(&bill, 5).Error)
		require.NoError(t, db.Save(&bill).Error, "Save of a row that is stored as it is")
		require.Equal(t, "INV-7-001", bill.Number)

		family := Payer{ID: 7, Name: "Ada", Bills: []Bill{bill}}
		require.NoError(t, db.Session(&gorm.Session{FullSaveAssociations: true}).Create(&family).Error, "a stored child, with FullSaveAssociations")
		require.NoError(t, db.Save(&[]Bill{bill}).Error, "Save of a list of stored rows")
		require.Equal(t, []string{"INV-7-001"}, numbersOf(t, db, 7))
	})
}

// namedMap is what gin.H, echo.Map and bson.M are.
type namedMap map[string]any

// TestSeriesOfNoStruct: what is no struct is an error, and holds no connection.
func TestSeriesOfNoStruct(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.AutoMigrate(&Ticket{}))
		pool, err := db.DB()
		require.NoError(t, err)
		pool.SetMaxOpenConns(1)
		try := func(model, value any) (err error) {
			defer func() {
				if p := recover(); p != nil { // as net/http and gin recover
					t.Errorf("%T: panic: %v", model, p)
					err = errors.New("panic")
				}
			}()
			return db.Model(model).Create(value).Error
		}
		require.Error(t, try(&Ticket{}, namedMap{"shop": "a"}))
		require.Error(t, try(&Bill{}, namedMap{"payer_id": 7}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, db.WithContext(ctx).Create(&Bill{PayerID: 7}).Error, "the connection was not given back")
	})
}

type qualifiedBill struct {
	ID      int64 `gorm:"primaryKey;autoIncrement:false"`
	PayerID int64
	Number  string `gorm:"size:36" idworker:"series=invoices,scope=PayerID"`
}

func (qualifiedBill) TableName() string { return "books.qualified" }

// TestSeriesOfAQualifiedTable: rows of a table in another schema, inserted with ON CONFLICT as
// associations are, are found there.
func TestSeriesOfAQualifiedTable(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "postgres" { // SQLite and MySQL have other files and databases
			return
		}
		require.NoError(t, db.Exec("CREATE SCHEMA books").Error)
		for _, table := range []string{"books.qualified", "qualified"} {
			require.NoError(t, db.Exec("CREATE TABLE "+table+" (id BIGINT PRIMARY KEY, payer_id BIGINT, number TEXT)").Error)
		}
		row := qualifiedBill{PayerID: 7}
		require.NoError(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error)
		require.Equal(t, "INV-7-001", row.Number)
	})
}

// TestSeriesUpsertByAnotherCase: columns have no case on MySQL and SQLite.
func TestSeriesUpsertByAnotherCase(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.Create(&Bill{ID: 5, PayerID: 7}).Error)
		err := db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "id"}},
			DoUpdates: clause.AssignmentColumns([]string{"Number"}),
		}).Create(&Bill{ID: 5, PayerID: 7}).Error
		require.Error(t, err)
		require.Equal(t, []string{"INV-7-001"}, numbersOf(t, db, 7))
	})
}

// TestSeriesTenantOfACallback: a callback that is registered after the plugin, with the anchor that is
// usual, changes the tenant of a row that has its number.
func TestSeriesTenantOfACallback(t *testing.T) {
	t.Parallel()
	var r registry
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}), &Payer{}, &Bill{})
	r.open(t, db)
	// The tenant of the request is what counts, whatever the body says.
	require.NoError(t, db.Callback().Create().Before("gorm:create").Register("tenant", func(db *gorm.DB) {
		if db.Error == nil && db.Statement.Schema != nil && db.Statement.Schema.LookUpField("PayerID") != nil {
			db.Statement.SetColumn("PayerID", int64(8))
		}
	}))
	bill := Bill{PayerID: 7} // from the body
	require.ErrorIs(t, db.Create(&bill).Error, gormplugin.ErrSeries)
	require.Empty(t, numbersOf(t, db, 8))
	require.NoError(t, db.Callback().Create().Remove("tenant"))
	require.NoError(t, db.Create(&Bill{PayerID: 7}).Error)
	require.Equal(t, []string{"INV-7-001"}, numbersOf(t, db, 7), "no gap")
}

type (
	emailOrder struct {
		ID     int64  `gorm:"primaryKey;autoIncrement:false"`
		Email  string `gorm:"size:50;uniqueIndex"`
		Name   string `gorm:"size:50"`
		Number int64  `idworker:"series=all"` // with gaps
	}
	decorated struct {
		ID     int64  `gorm:"primaryKey;autoIncrement:false"`
		Shop   string `gorm:"size:36"`
		Number string `gorm:"size:60" idworker:"series=all,scope=Shop"`
	}
	pointedBill struct {
		ID      int64 `gorm:"primaryKey;autoIncrement:false"`
		PayerID int64
		Text    string  `gorm:"size:50"`
		Number  *string `gorm:"size:36" idworker:"series=invoices,scope=PayerID"` // gapless
	}
)

func (d *decorated) BeforeCreate(*gorm.DB) error {
	d.Number = "X-" + d.Number
	return nil
}

func openNumbered(t *testing.T, models ...any) *gorm.DB {
	t.Helper()
	var r registry
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}), models...)
	r.open(t, db)
	return db
}

// Series with gaps: RETURNING may put what is stored into the values.
func TestGapsUpsertReturning(t *testing.T) {
	t.Parallel()
	db := openNumbered(t, &emailOrder{})
	first := emailOrder{Email: "a@b", Name: "Ada"}
	require.NoError(t, db.Create(&first).Error)
	again := emailOrder{Email: "a@b", Name: "Bea"}
	require.NoError(t, db.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "email"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}, clause.Returning{}).Create(&again).Error)
	require.Equal(t, first.Number, again.Number, "the row keeps its number, and RETURNING tells it")
	require.Equal(t, first.ID, again.ID)
}

func TestGapsIgnoredRowsReturning(t *testing.T) {
	t.Parallel()
	db := openNumbered(t, &emailOrder{})
	require.NoError(t, db.Create(&emailOrder{Email: "a@b"}).Error)
	rows := []emailOrder{{Email: "a@b"}, {Email: "c@d"}}
	require.NoError(t, db.Clauses(clause.OnConflict{DoNothing: true}, clause.Returning{}).Create(&rows).Error)
}

// A hook may change a number that has gaps.
func TestGapsHookDecoratesNumber(t *testing.T) {
	t.Parallel()
	db := openNumbered(t, &decorated{})
	row := decorated{Shop: "s"}
	require.NoError(t, db.Create(&row).Error)
	require.Equal(t, "X-000001", row.Number)
}

// Copies of a row share what its pointers point to.
func TestGaplessCopiesShareAPointer(t *testing.T) {
	t.Parallel()
	db := openNumbered(t, &pointedBill{})
	require.NoError(t, db.Create(&pointedBill{PayerID: 7}).Error)
	var template pointedBill
	require.NoError(t, db.Take(&template).Error)
	rows := []pointedBill{template, template, template}
	for i := range rows {
		rows[i].ID = 0
	}
	require.NoError(t, db.Create(&rows).Error)
	var numbers []string
	require.NoError(t, db.Model(&pointedBill{}).Order("number").Pluck("number", &numbers).Error)
	require.Equal(t, []string{"INV-7-001", "INV-7-002", "INV-7-003", "INV-7-004"}, numbers)
}

func TestGaplessCopyChangesItsOriginal(t *testing.T) {
	t.Parallel()
	db := openNumbered(t, &pointedBill{})
	require.NoError(t, db.Create(&pointedBill{PayerID: 7}).Error)
	var original pointedBill
	require.NoError(t, db.Take(&original).Error)
	duplicate := original
	duplicate.ID = 0
	require.NoError(t, db.Create(&duplicate).Error)
	original.Text = "was copied"
	require.NoError(t, db.Save(&original).Error)
	var numbers []string
	require.NoError(t, db.Model(&pointedBill{}).Order("number").Pluck("number", &numbers).Error)
	require.Equal(t, []string{"INV-7-001", "INV-7-002"}, numbers)
}

// A scope may return a session.
func TestGaplessScopeWithASession(t *testing.T) {
	t.Parallel()
	db := openNumbered(t, &Payer{}, &Bill{})
	require.NoError(t, db.Create(&Bill{ID: 5, PayerID: 7}).Error)
	_ = db.Transaction(func(tx *gorm.DB) error {
		err := tx.Scopes(func(tx *gorm.DB) *gorm.DB { return tx.Debug() }).
			Clauses(clause.OnConflict{DoNothing: true}).Create(&Bill{ID: 5, PayerID: 7}).Error
		require.ErrorIs(t, err, gormplugin.ErrSeries)
		return err
	})
	require.NoError(t, db.Create(&Bill{PayerID: 7}).Error)
	require.Equal(t, []string{"INV-7-001", "INV-7-002"}, numbersOf(t, db, 7))
}

// A statement that skips the plugin asks for no series, so it keeps no error of one.
func TestSkippedStatementFindsNoSeries(t *testing.T) {
	t.Parallel()
	var r registry
	lookup := func(name string) (*series.Series, error) {
		if r.all == nil {
			return nil, errors.New("not yet")
		}
		return r.of(name)
	}
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: lookup}), &Payer{}, &Bill{})
	require.NoError(t, db.Set(gormplugin.SkipKey, true).Create(&Bill{ID: 1, PayerID: 7, Number: "INV-7-000"}).Error)
	r.open(t, db)
	require.NoError(t, db.Create(&Bill{PayerID: 7}).Error)
}

type immutableBill struct {
	ID      int64 `gorm:"primaryKey;autoIncrement:false"`
	PayerID int64
	Number  string `gorm:"<-:create;size:36" idworker:"series=invoices,scope=PayerID"`
}

// GORM saves lists by an upsert of all columns, but for those that are not updated.
func TestGaplessNumberThatIsNotUpdated(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.AutoMigrate(&immutableBill{}))
		require.NoError(t, db.Save(&[]immutableBill{{PayerID: 7}, {PayerID: 7}}).Error)
		require.NoError(t, db.Save(&immutableBill{ID: 99, PayerID: 7}).Error)
		require.ErrorIs(t, db.Save(&[]immutableBill{{ID: 99, PayerID: 7}}).Error, gormplugin.ErrSeries, "its number was not loaded")
		require.ErrorIs(t, db.Save(&[]Bill{{PayerID: 7}}).Error, gormplugin.ErrSeries, "an upsert may replace this one")
		var numbers []string
		require.NoError(t, db.Model(&immutableBill{}).Order("number").Pluck("number", &numbers).Error)
		require.Equal(t, []string{"INV-7-001", "INV-7-002", "INV-7-003"}, numbers)
	})
}

// Rows that are stored without a number, as drafts and those from before the field was added, keep none
// when they are saved again.
func TestStoredRowsWithoutANumber(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.AutoMigrate(&paidBill{}))
		draft, old := Bill{PayerID: 7}, Bill{ID: 4, PayerID: 8}
		require.NoError(t, db.Omit("Number").Create(&draft).Error)
		require.NoError(t, db.Set(gormplugin.SkipKey, true).Create(&Bill{ID: 4, PayerID: 8}).Error)
		require.NoError(t, db.Create(&paidBill{Bill: &draft}).Error)
		require.NoError(t, db.Save(&[]Bill{draft, old}).Error)
		require.Empty(t, draft.Number)
		require.NoError(t, db.Create(&Bill{PayerID: 7}).Error)
		var n int64
		require.NoError(t, db.Model(&Bill{}).Where("number = ?", "INV-7-001").Count(&n).Error)
		require.EqualValues(t, 1, n, "none was taken before")
	})
}

// A number of another period may be the same.
func TestGaplessEqualNumberOfAnotherPeriod(t *testing.T) {
	t.Parallel()
	type daily struct {
		ID     int64  `gorm:"primaryKey;autoIncrement:false"`
		Shop   string `gorm:"size:36"`
		Number int64  `idworker:"series=daily,scope=Shop"`
		Mail   string `gorm:"size:36;unique"`
	}
	var s *series.Series
	db := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Series: func(string) (*series.Series, error) { return s, nil }}), &daily{})
	store, err := gormdb.Segments(db)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	s, err = series.Open(t.Context(), store, series.Config{Name: "daily", Period: series.Day, Gapless: true})
	require.NoError(t, err)
	// What yesterday's Create stored.
	require.NoError(t, db.Set(gormplugin.SkipKey, true).Create(&daily{ID: 5, Shop: "a", Number: 1, Mail: "a"}).Error)
	for _, conflict := range []clause.OnConflict{
		{DoNothing: true},
		{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"mail"})},
	} {
		err = db.Clauses(conflict).Create(&daily{ID: 5, Shop: "a"}).Error
		require.ErrorIs(t, err, gormplugin.ErrSeries, "the row is not inserted, and number 1 of today would be a gap")
	}
	update := clause.OnConflict{Columns: []clause.Column{{Name: "mail"}}, DoUpdates: clause.AssignmentColumns([]string{"shop"})}
	err = db.Clauses(update, clause.Returning{}).Create(&daily{Shop: "a", Mail: "a"}).Error
	require.ErrorIs(t, err, gormplugin.ErrSeries, "the row has the key of another one by now")
	next := daily{Shop: "a", Mail: "b"}
	require.NoError(t, db.Create(&next).Error)
	require.EqualValues(t, 1, next.Number)
}

// A Create that fails takes its number back with its key: the next row gets it. Otherwise an UPDATE
// with the same struct would store it.
func TestGaplessNumberOfAFailedCreate(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.AutoMigrate(&mailedBill{}))
		require.NoError(t, db.Create(&mailedBill{PayerID: 7, Mail: "a"}).Error)
		twice := mailedBill{PayerID: 7, Mail: "a", Text: "6"}
		require.Error(t, db.Create(&twice).Error, "the mail is there")
		require.Empty(t, twice.Number)
		require.NoError(t, db.Model(&mailedBill{}).Where("mail = ?", "a").Updates(&twice).Error)
		var stored mailedBill
		require.NoError(t, db.Take(&stored, "mail = ?", "a").Error)
		require.Equal(t, "INV-7-001", stored.Number)

		require.Error(t, db.Create(&stored).Error, "as after an answer that was lost")
		require.Equal(t, "INV-7-001", stored.Number)
		found := mailedBill{PayerID: 7, Mail: "a"}
		require.ErrorIs(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&found).Error, gormplugin.ErrSeries)
		require.Empty(t, found.Number)
		last := mailedBill{PayerID: 7, Mail: "b"}
		require.NoError(t, db.Create(&last).Error)
		require.Equal(t, "INV-7-002", last.Number)
	})
}

// A stored row that has no number, and is saved as a parent, asks for none, and waits for nobody.
func TestStoredRowWithoutANumberWaitsForNobody(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" { // whose only lock each transaction has
			return
		}
		require.NoError(t, db.AutoMigrate(&paidBill{}))
		draft := Bill{PayerID: 7}
		require.NoError(t, db.Omit("Number").Create(&draft).Error)
		holds := db.Begin()
		defer holds.Rollback()
		require.NoError(t, holds.Create(&Bill{PayerID: 7}).Error)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		require.NoError(t, db.WithContext(ctx).Create(&paidBill{Bill: &draft}).Error)
	})
}

// With innodb_snapshot_isolation, MariaDB's default since 11.6.2, a transaction may not change what others
// have changed since it first read. So the scope is locked before rows are looked for.
func TestGaplessBySnapshotIsolation(t *testing.T) {
	t.Parallel()
	cfg, err := mysqldriver.ParseDSN(testserver.MariaDB(t))
	require.NoError(t, err)
	cfg.Params = map[string]string{"innodb_snapshot_isolation": "1"}
	var r registry
	db := open(t, mysql.Open(cfg.FormatDSN()), gormplugin.New(newGenerator(t), gormplugin.Config{Series: r.of}), &Payer{}, &Bill{}, &Receipt{})
	r.open(t, db)
	require.NoError(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Bill{ID: 101, PayerID: 70}).Error, "its tenant's first number")
	require.NoError(t, db.Create(&Payer{ID: 71, Bills: []Bill{{ID: 102}}}).Error)

	old := legacyBill{ID: 4, Tenant: "acme.example"} // of a tenant that no series has
	require.NoError(t, db.AutoMigrate(&legacyBill{}, &legacyItem{}))
	require.NoError(t, db.Set(gormplugin.SkipKey, true).Create(&old).Error)
	require.NoError(t, db.Create(&legacyItem{LegacyBill: &old}).Error)

	require.NoError(t, db.Create(&Payer{ID: 7, Bills: make([]Bill, 1)}).Error)
	var family Payer
	require.NoError(t, db.Preload("Bills").Take(&family, 7).Error)
	family.Bills = append(family.Bills, Bill{})
	holds := db.Begin()
	require.NoError(t, holds.Create(&Bill{PayerID: 7}).Error)
	waits := make(chan error, 1)
	go func() { waits <- db.Save(&family).Error }()
	require.Eventually(t, func() bool {
		var n int64
		require.NoError(t, db.Raw("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'").Scan(&n).Error)
		return n > 0
	}, 30*time.Second, 200*time.Millisecond) // the table is refreshed if nobody has read it for 100 ms
	require.NoError(t, holds.Commit().Error)
	require.NoError(t, <-waits)
	require.Equal(t, []string{"INV-7-001", "INV-7-002", "INV-7-003"}, numbersOf(t, db, 7))
}

type (
	legacyBill struct {
		ID     int64  `gorm:"primaryKey;autoIncrement:false"`
		Tenant string `gorm:"size:36"`
		Number string `gorm:"<-:create;size:60" idworker:"series=invoices,scope=Tenant"`
	}
	legacyItem struct {
		ID           int64 `gorm:"primaryKey;autoIncrement:false"`
		LegacyBillID int64
		LegacyBill   *legacyBill `gorm:"constraint:-"`
	}
)

// A nil pointer to a map is GORM's error.
func TestNilMapPointer(t *testing.T) {
	t.Parallel()
	db := openNumbered(t, &Payer{}, &Bill{})
	require.ErrorIs(t, db.Model(&Bill{}).Create((*map[string]any)(nil)).Error, gorm.ErrInvalidValue)
	require.ErrorIs(t, db.Model(&Bill{}).Create((*[]map[string]any)(nil)).Error, gorm.ErrInvalidValue)
}

// A nested transaction that fails gives its number back, and the outer one goes on.
func TestGaplessInANestedTransaction(t *testing.T) {
	t.Parallel()
	onEachSeries(t, func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.Create(&Bill{ID: 5, PayerID: 7}).Error)
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			require.Error(t, tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&Bill{ID: 5, PayerID: 7}).Error }), "a duplicate key")
			return tx.Create(&Bill{PayerID: 7}).Error
		}))
		require.Equal(t, []string{"INV-7-001", "INV-7-002"}, numbersOf(t, db, 7))
	})
}
