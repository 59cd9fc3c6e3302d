package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
)

// failures lists what becomes of keys whose INSERT fails.
func failures() []way {
	return []way{
		{"a refused row has no key", func(c cell) {
			first := c.based()
			again := Based{Name: first.Name}
			// With a key, Save would overwrite the first row on MySQL.
			for range 2 {
				require.ErrorIs(c, c.db.Save(&again).Error, gorm.ErrDuplicatedKey)
				require.ErrorIs(c, c.db.Create(&again).Error, gorm.ErrDuplicatedKey)
				require.Zero(c, again.ID)
			}
			// With a key, First would look for it too.
			require.NoError(c, c.db.Where("name", first.Name).First(&again).Error)
			require.Equal(c, first.ID, again.ID)
			c.filled("baseds", "id", first.ID)
		}},
		{"a refused row has no key, errors not translated", func(c cell) {
			db := open(c, c.dialector(), gormplugin.New(newGenerator(c), gormplugin.Config{}))
			db.TranslateError = false
			first := Based{Name: c.name()}
			require.NoError(c, db.Create(&first).Error)
			again := Based{Name: first.Name}
			require.Error(c, db.Create(&again).Error)
			require.Zero(c, again.ID)
		}},
		// The driver for MySQL does not tell GORM of a CHECK, and none does of NOT NULL.
		{"a row refused for another reason keeps its id", func(c cell) {
			empty, name := "", c.name()
			checked := Required{Name: &empty}
			err := c.db.Create(&checked).Error
			require.Error(c, err)
			require.Equal(c, c.db.Name() != "mysql", errors.Is(err, gorm.ErrCheckConstraintViolated))
			require.Equal(c, c.db.Name() != "mysql", checked.ID == 0)
			row, elsewhere := Required{}, Plain{}
			require.Error(c, c.db.Create(&row).Error)
			require.Error(c, c.db.Table("missing").Create(&elsewhere).Error)
			c.holds("requireds", "id")
			c.issued(row.ID, elsewhere.ID)
			row.Name = &name
			require.NoError(c, c.db.Create(&row).Error)
			c.filled("requireds", "id", row.ID)
		}},
		{"a row that a hook refuses", func(c cell) {
			row := Owner{}
			for range 2 { // with a key, Save would update
				require.ErrorIs(c, c.db.Save(&row).Error, errNoName)
				c.issued(row.Seen)
				require.Zero(c, row.ID)
			}
			c.holds("owners", "id")
		}},
		// Nobody knows whether the row is stored. With the same key it cannot be stored twice.
		{"a lost answer keeps the id for the next try", func(c cell) {
			lost := lossy(c, true)
			row, rows, m := Plain{}, []Auto{{Name: c.name()}, {Name: c.name()}}, map[string]any{"name": c.name()}
			require.ErrorIs(c, lost.Create(&row).Error, io.ErrUnexpectedEOF)
			require.ErrorIs(c, lost.Create(&rows).Error, io.ErrUnexpectedEOF)
			require.ErrorIs(c, lost.Model(&Based{}).Create(m).Error, io.ErrUnexpectedEOF)
			upsert := Based{Name: c.name()}
			require.ErrorIs(c, lost.Clauses(upsertByName).Create(&upsert).Error, io.ErrUnexpectedEOF)
			c.filled("plains", "id", row.ID)
			c.filled("autos", "id", ids(rows, autoID)...)
			c.filled("baseds", "id", m["id"], upsert.ID)
			id := row.ID
			for range 2 { // the second statement did not make the key that it cannot store
				require.ErrorIs(c, c.db.Create(&row).Error, gorm.ErrDuplicatedKey)
				require.Equal(c, id, row.ID)
			}
			require.NoError(c, c.db.Save(&row).Error)
			c.holds("plains", "id", id)
		}},
		{"a transaction that cannot begin", func(c cell) {
			row := Plain{}
			require.ErrorIs(c, lossy(c, false).Create(&row).Error, io.ErrUnexpectedEOF)
			require.Zero(c, row.ID)
		}},
		{"a nil row in a list", func(c cell) {
			rows := []*Plain{{}, nil}
			require.ErrorIs(c, c.db.Create(rows).Error, gorm.ErrInvalidData)
			require.Zero(c, rows[0].ID)
			mades := []*Made{{Name: c.name()}, nil}
			require.ErrorIs(c, c.db.Clauses(clause.OnConflict{DoNothing: true}).Create(mades).Error, gorm.ErrInvalidData)
			require.Zero(c, mades[0].ID)
		}},
		{"a key that a hook has set stays", func(c cell) {
			hooks := []Stubborn{{}, {}} // both get 7
			require.ErrorIs(c, c.db.Create(&hooks).Error, gorm.ErrDuplicatedKey)
			require.Equal(c, []Stubborn{{ID: 7}, {ID: 7}}, hooks)
		}},
		{"maps that are refused", func(c cell) {
			first := c.based()
			require.NoError(c, c.db.Create(&Auto{Name: first.Name}).Error)
			for _, model := range []any{&Based{}, &Auto{}} {
				one, rows := map[string]any{"name": first.Name}, []map[string]any{{"name": c.name(), "ID": nil}, {"name": first.Name, "id": 11}}
				require.ErrorIs(c, c.db.Model(model).Create(one).Error, gorm.ErrDuplicatedKey)
				require.ErrorIs(c, c.db.Model(model).Create(&rows).Error, gorm.ErrDuplicatedKey)
				require.NotContains(c, one, "id")
				require.Nil(c, rows[0]["ID"])
				require.Nil(c, rows[0]["id"])
				require.Equal(c, 11, rows[1]["id"])
			}
		}},
	}
}

// lossy returns a database whose connection breaks after each statement, or, with begun
// false, before each transaction.
func lossy(c cell, begun bool) *gorm.DB {
	db := open(c, c.dialector(), gormplugin.New(c.source, gormplugin.Config{}))
	db.SkipDefaultTransaction = begun
	pool, err := db.DB()
	require.NoError(c, err)
	db.Statement.ConnPool = lossyPool{pool}
	return db
}

type lossyPool struct{ *sql.DB }

func (l lossyPool) BeginTx(context.Context, *sql.TxOptions) (gorm.ConnPool, error) {
	return nil, io.ErrUnexpectedEOF
}

func (l lossyPool) ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error) {
	_, err := l.DB.ExecContext(ctx, q, args...)
	return nil, errors.Join(io.ErrUnexpectedEOF, err)
}

func (l lossyPool) QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	rows, err := l.DB.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() { // to the end of the statement
	}
	return nil, errors.Join(io.ErrUnexpectedEOF, rows.Err())
}
