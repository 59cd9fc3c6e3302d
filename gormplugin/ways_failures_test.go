package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
		{"a reference that is refused", func(c cell) {
			if c.db.Name() == "sqlite" { // checks foreign keys only on request
				return
			}
			order := Order{CustomerID: 1}
			require.ErrorIs(c, c.db.Create(&order).Error, gorm.ErrForeignKeyViolated)
			require.Zero(c, order.ID)
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
		// As with GORM alone, the value of a row that is stored loses its id.
		{"a list refused in part, without transactions", func(c cell) {
			if c.db.Name() != "mysql" {
				return
			}
			require.NoError(c, c.db.Exec("CREATE TABLE parts (id BIGINT PRIMARY KEY, name VARCHAR(50) UNIQUE) ENGINE=MyISAM").Error)
			name := c.name()
			rows := []Plain{{Name: name}, {Name: name}}
			require.ErrorIs(c, c.db.Table("parts").Create(&rows).Error, gorm.ErrDuplicatedKey)
			require.Equal(c, []any{int64(0), int64(0)}, ids(rows, plainID))
			var stored int64
			require.NoError(c, c.db.Table("parts").Count(&stored).Error)
			require.EqualValues(c, 1, stored)
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
		// GORM alone gives the keys of rows that were inserted, also if the transaction is
		// rolled back afterwards.
		{"keys that a rollback leaves, as with GORM alone", func(c cell) {
			for name, write := range map[string]func(*gorm.DB) string{
				"hook after the INSERT": func(db *gorm.DB) string {
					row := Owner{Name: "refused later"}
					return fmt.Sprint(errors.Is(db.Create(&row).Error, errNoName), row.ID > 0)
				},
				"child after its parent": func(db *gorm.DB) string {
					row := Owner{Name: c.name(), Mates: []Mate{{Name: c.name()}, {}}}
					return fmt.Sprint(errors.Is(db.Create(&row).Error, errNoName), row.ID > 0, row.Mates[0].ID > 0, row.Mates[1].ID > 0)
				},
				"parent after its child": func(db *gorm.DB) string {
					name := c.name()
					row := Owner{Name: name, Leader: &Mate{Name: c.name()}}
					return fmt.Sprint(db.Create(&Owner{Name: name}).Error, errors.Is(db.Create(&row).Error, gorm.ErrDuplicatedKey), row.ID > 0, row.Leader.ID > 0, row.LeaderID != nil)
				},
				"batches": func(db *gorm.DB) string {
					name := c.name()
					rows := []Owner{{Name: c.name()}, {Name: name}, {Name: name}, {Name: c.name()}, {Name: c.name()}}
					err := db.CreateInBatches(&rows, 2).Error
					return fmt.Sprint(errors.Is(err, gorm.ErrDuplicatedKey), ids(rows, func(o Owner) bool { return o.ID > 0 }))
				},
			} {
				alone := write(open(c, c.dialector(), nil))
				require.Equal(c, alone, write(c.db), name)
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
