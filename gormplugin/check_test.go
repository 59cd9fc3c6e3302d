package gormplugin_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/snowflake"
)

type (
	Old struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	OldText struct {
		ID string `gorm:"primaryKey"`
	}
	OldQuoted struct {
		ID int64 `gorm:"primaryKey" json:"id,string"`
	}
	OldHidden struct {
		ID int64 `gorm:"primaryKey" json:"-"`
	}
	OldSnow struct {
		ID snowflake.ID `gorm:"primaryKey"`
	}
	OldDeleted struct {
		gormplugin.Model
	}
)

// CheckTable reads the range of a column from the catalog of each database.
func TestCheckTableColumns(t *testing.T) {
	t.Parallel()
	const never, later, always, unknown = "never", "later", "always", "unknown"
	mariadb := map[string]string{
		"BIGINT": always, "BIGINT UNSIGNED": always, "BIGINT(20)": always, "INT": never, "INT UNSIGNED": never, "MEDIUMINT": never, "SMALLINT": never,
		"DECIMAL(20)": always, "DECIMAL(20,1)": always, "DECIMAL(18)": later, "DECIMAL(9)": never, "DOUBLE": never,
		"VARCHAR(19)": always, "VARCHAR(18)": later, "VARCHAR(10)": never, "CHAR(20)": always, "VARBINARY(20)": always,
	}
	each(t, func(t *testing.T, dialect string, dialector func() gorm.Dialector, _ *sql.DB) {
		types := mariadb
		switch dialect {
		case "sqlite": // an INT is as large as a BIGINT, and lengths are ignored
			types = map[string]string{
				"INTEGER": always, "INT": always, "BIGINT": always, "NUMERIC(9)": always, "VARCHAR(5)": always, "TEXT": always, "REAL": never, "BLOB": always,
			}
		case "postgres":
			types = map[string]string{
				"BIGINT": always, "INTEGER": never, "SMALLINT": never, "NUMERIC": always, "NUMERIC(20)": always, "NUMERIC(18)": later, "NUMERIC(19,3)": never,
				"DOUBLE PRECISION": never, "VARCHAR(19)": always, "VARCHAR(18)": later, "VARCHAR(10)": never, "TEXT": always, "VARCHAR": always,
				"CHAR(20)": always, "BYTEA": always, "BIGSERIAL": always, "UUID": unknown,
			}
		}
		db := open(t, dialector(), nil)
		check := func(table string, model any) (*gormplugin.TableReport, error) {
			return gormplugin.CheckTable(t.Context(), db.Table(table), model, snowflake.Layout{}, gormplugin.Config{})
		}
		n := 0
		for typ, holds := range types {
			n++
			table := fmt.Sprintf("old%d", n)
			require.NoError(t, db.Exec("CREATE TABLE "+table+" (id "+typ+" PRIMARY KEY)").Error)
			text := strings.Contains(typ, "CHAR") || strings.Contains(typ, "TEXT") || strings.Contains(typ, "B") && !strings.Contains(typ, "BIG") && !strings.Contains(typ, "DOUBLE")
			var model any = &Old{}
			if text {
				model = &OldText{}
			}
			r, err := check(table, model)
			if holds == unknown {
				require.ErrorContains(t, err, "its type uuid is unknown")
				continue
			}
			require.NoError(t, err, typ)
			require.Zero(t, r.Ahead, typ)
			require.Empty(t, r.Max, typ)
			switch holds {
			case always:
				require.True(t, r.HoldsUntil.Equal(r.Layout.Ends()), "%s\n%s", typ, r)
			case never:
				require.Zero(t, r.HoldsUntil, "%s\n%s", typ, r)
			case later:
				// Ids of the default layout reach 10^18 in 2027.
				require.Equal(t, 2027, r.HoldsUntil.Year(), "%s\n%s", typ, r)
			}
			// As text, ids of 19 digits sort before ids of 18 digits.
			require.Equal(t, text, r.OrderedUntil.Before(r.Layout.Ends()), typ)
			require.Equal(t, table, r.Table)
			if dialect != "sqlite" {
				require.Equal(t, typ == "BIGSERIAL", r.AutoIncrement, typ)
			}
		}
		_, err := check("missing", &Old{})
		require.ErrorContains(t, err, "missing")
		_, err = check("old1", &Chosen{})
		require.ErrorContains(t, err, "no table old1 with a column no")
	})
}

// Ids at most 25 hours ahead of the clock pass by; later ones need another epoch.
func TestCheckTableAheadOfTheClock(t *testing.T) {
	t.Parallel()
	db := openSQLite(t, nil, &Old{})
	check := func(ahead time.Duration) *gormplugin.TableReport {
		at := time.Now().Add(ahead)
		id, err := snowflake.Layout{}.WithDefaults().Encode(snowflake.Parts{Time: at})
		require.NoError(t, err)
		require.NoError(t, db.Create(&Old{ID: id}).Error)
		r, err := gormplugin.CheckTable(t.Context(), db, &Old{}, snowflake.Layout{}, gormplugin.Config{})
		require.NoError(t, err)
		require.NotZero(t, r.Ahead)
		if !r.OrderedFrom.IsZero() {
			// From then on, the smallest id is larger.
			first, err := r.Layout.Encode(snowflake.Parts{Time: r.OrderedFrom})
			require.NoError(t, err)
			require.Greater(t, first, id)
			require.WithinRange(t, r.OrderedFrom, at, at.Add(time.Second))
		}
		return r
	}
	for _, ahead := range []time.Duration{time.Hour, 24*time.Hour + 30*time.Minute} {
		r := check(ahead)
		require.NotZero(t, r.OrderedFrom)
		require.Zero(t, r.Epoch)
		require.Contains(t, r.String(), "new ids sort after them from "+r.OrderedFrom.UTC().Format(time.RFC3339Nano)+" on")
	}
	r := check(26 * time.Hour)
	require.Zero(t, r.OrderedFrom)
	require.NotZero(t, r.Epoch)
	require.Contains(t, r.String(), "order: NO, 3 keys up to")
}

// The order of new ids and stored keys is that of the database.
func TestCheckTableOrder(t *testing.T) {
	t.Parallel()
	twitter, err := snowflake.Twitter().Encode(snowflake.Parts{Time: time.Now()})
	require.NoError(t, err)
	each(t, func(t *testing.T, dialect string, dialector func() gorm.Dialector, _ *sql.DB) {
		db := open(t, dialector(), nil, &Old{}, &OldText{}, &Auto{}, &OldDeleted{})
		check := func(model any, layout snowflake.Layout) *gormplugin.TableReport {
			r, err := gormplugin.CheckTable(t.Context(), db, model, layout, gormplugin.Config{})
			require.NoError(t, err)
			require.Contains(t, r.String(), "order: ")
			return r
		}
		require.NoError(t, db.Create([]Old{{ID: 7}, {ID: 4_000_000_000}}).Error)
		r := check(&Old{}, snowflake.Layout{})
		require.Zero(t, r.Ahead)
		require.Equal(t, "4000000000", r.Max)

		require.NoError(t, db.Create(&Old{ID: twitter}).Error)
		r = check(&Old{}, snowflake.Layout{})
		require.EqualValues(t, 1, r.Ahead)
		require.Contains(t, r.String(), "NO, 1 keys up to")
		// The advised epoch is the latest that works.
		require.NotZero(t, r.Epoch)
		r = check(&Old{}, snowflake.Layout{Epoch: r.Epoch})
		require.Zero(t, r.Ahead)
		require.NotZero(t, check(&Old{}, snowflake.Layout{Epoch: r.Layout.Epoch + 2*time.Minute.Milliseconds()}).Ahead)

		// Text sorts as the database sorts it.
		require.NoError(t, db.Create([]OldText{{ID: "10"}, {ID: "x"}}).Error)
		r = check(&OldText{}, snowflake.Layout{})
		require.Equal(t, "x", r.Max)
		require.EqualValues(t, 1, r.Ahead)
		require.Zero(t, r.Epoch)

		require.NoError(t, db.Create(&Auto{Name: "a"}).Error)
		r = check(&Auto{}, snowflake.Layout{})
		require.Equal(t, "1", r.Max)
		if dialect != "sqlite" {
			require.True(t, r.AutoIncrement, r)
			// The advice agrees with docs/gorm.md: AUTO_INCREMENT goes last.
			require.Contains(t, r.String(), "AUTO_INCREMENT: the database numbers rows that are inserted without a key; keep it while")
		}

		// A softly deleted row counts.
		gone := OldDeleted{Model: gormplugin.Model{ID: twitter}}
		require.NoError(t, db.Create(&gone).Error)
		require.NoError(t, db.Delete(&gone).Error)
		require.EqualValues(t, 1, check(&OldDeleted{}, snowflake.Layout{}).Ahead)
	})
}

func TestCheckTableJavaScript(t *testing.T) {
	t.Parallel()
	models := []any{&Old{}, &OldText{}, &OldQuoted{}, &OldHidden{}, &OldSnow{}, &Pointed{}, &Null{}}
	db := openSQLite(t, nil, models...)
	for i, want := range []bool{false, true, true, true, true, false, false} {
		r, err := gormplugin.CheckTable(t.Context(), db, models[i], snowflake.Layout{}, gormplugin.Config{})
		require.NoError(t, err)
		require.Equal(t, want, r.JavaScriptUntil.Equal(r.Layout.Ends()), "%T", models[i])
		if !want {
			require.Zero(t, r.JavaScriptUntil)
			require.Contains(t, r.String(), "JavaScript: NO, ids exceed 2^53")
			require.Contains(t, r.String(), "choose `preset: jssafe`; foreign keys need the same")
		} else {
			require.Contains(t, r.String(), "JavaScript: ok, the key;")
		}
	}
	r, err := gormplugin.CheckTable(t.Context(), db, &Old{}, snowflake.JSSafe(), gormplugin.Config{})
	require.NoError(t, err)
	require.True(t, r.JavaScriptUntil.Equal(r.Layout.Ends()))
	// With 43 bits of time, ids exceed 2^53 when 41 of them are used up.
	r, err = gormplugin.CheckTable(t.Context(), db, &Old{}, snowflake.Layout{TimeBits: 43, WorkerBits: 6, SequenceBits: 6}, gormplugin.Config{})
	require.NoError(t, err)
	require.Equal(t, 2089, r.JavaScriptUntil.Year())
	require.Contains(t, r.String(), "NO from 2089-")
}

// Keys made by Convert are compared as they are stored.
func TestCheckTableConvert(t *testing.T) {
	t.Parallel()
	db := openSQLite(t, nil, &Base36{}, &Bytes{})
	require.NoError(t, db.Create(&Base36{ID: "zz"}).Error)
	r, err := gormplugin.CheckTable(t.Context(), db, &Base36{}, snowflake.Layout{}, gormplugin.Config{Convert: convert})
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Ahead)
	require.True(t, r.JavaScriptUntil.Equal(r.Layout.Ends()))
	// Ids take 12 characters today, 13 in the end.
	require.True(t, r.OrderedUntil.Before(r.Layout.Ends()))
	_, err = gormplugin.CheckTable(t.Context(), db, &Bytes{}, snowflake.Layout{}, gormplugin.Config{Convert: convert})
	require.NoError(t, err)
}

// CheckTable fails when it cannot examine the table.
func TestCheckTableErrors(t *testing.T) {
	t.Parallel()
	db := openSQLite(t, nil, &Plain{}, &Small{}, &OptOut{})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx    context.Context
		model  any
		layout snowflake.Layout
		cfg    gormplugin.Config
		is     error
		says   string
	}{
		"no model":        {model: 7, says: "unsupported data type"},
		"small key":       {model: &Small{}, is: gormplugin.ErrKey, says: "int32"},
		"opted out":       {model: &OptOut{}, says: "leaves this model alone"},
		"not tagged":      {cfg: gormplugin.Config{TaggedOnly: true}, says: "leaves this model alone"},
		"excluded":        {cfg: gormplugin.Config{Exclude: []string{"plains"}}, says: "leaves this model alone"},
		"wrong config":    {cfg: gormplugin.Config{Wait: -1}, says: "wait -1ns"},
		"wrong layout":    {layout: snowflake.Layout{WorkerBits: 30}, says: "worker bits 30"},
		"layout of later": {layout: snowflake.Layout{Epoch: time.Now().Add(time.Hour).UnixMilli()}, says: "after now"},
		"in seconds":      {layout: snowflake.Layout{Epoch: 1577808000}, says: "give Unix milliseconds, as 1577808000000 for"},
		"canceled":        {ctx: canceled, is: context.Canceled},
	} {
		r, err := gormplugin.CheckTable(cmp.Or(tt.ctx, t.Context()), db, cmp.Or[any](tt.model, &Plain{}), tt.layout, tt.cfg)
		require.Nil(t, r, name)
		require.ErrorContains(t, err, "gormplugin: check table of ", name)
		require.ErrorContains(t, err, tt.says, name)
		if tt.is != nil {
			require.ErrorIs(t, err, tt.is, name)
		}
	}
}
