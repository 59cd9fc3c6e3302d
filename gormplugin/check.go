package gormplugin

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/snowflake"
)

// maxJavaScript is JavaScript's Number.MAX_SAFE_INTEGER: larger integers are rounded.
const maxJavaScript = 1<<53 - 1

// A TableReport says whether the ids of a layout suit a table that has rows.
// CheckTable returns it.
type TableReport struct {
	Table  string
	Column string
	Type   string // the column's type, as the database names it
	Layout snowflake.Layout

	// First is the smallest id that the layout can issue from now on, and Last the
	// largest that it can ever issue.
	First, Last int64
	// Max is the largest stored key as text, or "" if the table is empty.
	Max string
	// Ahead is the number of rows whose keys do not sort before First.
	Ahead int64
	// OrderedFrom is when new ids begin to sort after all rows, if the largest key is an
	// id of the next 25 hours: an id ahead of the clock, or a number that follows
	// NumberFrom. Otherwise, and for text, it is the zero Time.
	OrderedFrom time.Time
	// Epoch is the latest epoch, in Unix milliseconds, with which new ids would sort after
	// all rows. It is 0 if they already do or soon will, if no epoch helps, and for text.
	Epoch int64
	// HoldsUntil is the time of the first id that does not fit the column. It is the
	// zero Time if today's ids do not fit, and Layout.Ends() if all ids fit.
	HoldsUntil time.Time
	// OrderedUntil is when ids get longer as text, so that newer ids sort before older
	// ones. It is Layout.Ends() if that never happens, as with numbers.
	OrderedUntil time.Time
	// JavaScriptUntil is the time of the first id that JavaScript clients may round. It
	// is the zero Time if that holds for today's ids, and Layout.Ends() if it holds for
	// none, for example because the model's JSON quotes its key.
	JavaScriptUntil time.Time
	// AutoIncrement reports whether the database numbers rows that are inserted without
	// a key. It may be false on SQLite, which does so for every INTEGER PRIMARY KEY.
	AutoIncrement bool
	// NumberFrom is the AUTO_INCREMENT to set on MySQL and MariaDB before instances with
	// and without the plugin insert side by side: an id of the time in 24 hours. Without
	// it the database continues after the largest key, where ids soon follow. It is 0 on
	// other databases, for columns without AUTO_INCREMENT, and for those too small for it.
	NumberFrom int64
	// Generated reports whether the database refuses ids: PostgreSQL does for a column that
	// is GENERATED ALWAYS AS IDENTITY.
	Generated bool
}

// SortsAfter reports whether every new id sorts after every stored key.
func (r *TableReport) SortsAfter() bool { return r.Ahead == 0 }

// Holds reports whether the column can hold every id of the layout.
func (r *TableReport) Holds() bool { return r.HoldsUntil.Equal(r.Layout.Ends()) }

// JavaScriptSafe reports whether JavaScript clients read every id exactly.
func (r *TableReport) JavaScriptSafe() bool { return r.JavaScriptUntil.Equal(r.Layout.Ends()) }

// String formats the report for people in a few lines, with advice.
func (r *TableReport) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	ends := r.Layout.Ends()
	line("%s.%s %s, ids %d to %d (%v)", r.Table, r.Column, r.Type, r.First, r.Last, r.Layout)
	switch {
	case r.Max == "":
		line("order: ok, the table is empty")
	case r.SortsAfter():
		line("order: ok, new ids sort after the largest key %s", r.Max)
	case !r.OrderedFrom.IsZero():
		line("order: not yet, %d keys up to %s are ids ahead of the clock, or numbers set for instances without the plugin; new ids sort after them from %s on",
			r.Ahead, r.Max, r.OrderedFrom.UTC().Format(time.RFC3339Nano))
	case r.Epoch > 0:
		line("order: NO, %d keys up to %s do not sort before new ids; they would with an epoch of %d or earlier", r.Ahead, r.Max, r.Epoch)
	default:
		line("order: NO, %d keys up to %s do not sort before new ids", r.Ahead, r.Max)
	}
	if r.OrderedUntil.Before(ends) {
		line("order: NO from %s on, when ids get longer as text and newer ones sort before older ones", stamp(r.OrderedUntil))
	}
	switch {
	case r.Holds():
		line("column: ok, it holds every id")
	case r.HoldsUntil.IsZero():
		line("column: NO, it is too small for ids; change it, and the columns that refer to it, to BIGINT or longer text")
	default:
		line("column: NO from %s on, it is too small; change it, and the columns that refer to it, to BIGINT or longer text", stamp(r.HoldsUntil))
	}
	switch {
	case r.JavaScriptSafe():
		line("JavaScript: ok, the key; columns that refer to it are not examined")
	case r.JavaScriptUntil.IsZero():
		line("JavaScript: NO, ids exceed 2^53; tag the key `json:\",string\"`, make it a snowflake.ID, or choose `preset: jssafe`; foreign keys need the same")
	default:
		line("JavaScript: NO from %s on, when ids exceed 2^53; tag the key `json:\",string\"` or make it a snowflake.ID; foreign keys need the same", stamp(r.JavaScriptUntil))
	}
	if r.Generated {
		line("identity: NO, the database refuses ids; ALTER TABLE %s ALTER COLUMN %s SET GENERATED BY DEFAULT", r.Table, r.Column)
	}
	if r.AutoIncrement {
		line("AUTO_INCREMENT: the database numbers rows that are inserted without a key; keep it while instances without the plugin insert, also when you change the column, and remove it then")
	}
	if r.NumberFrom > 0 {
		line("side by side: before an instance with the plugin inserts, run ALTER TABLE %s AUTO_INCREMENT = %d; otherwise the numbers of the others collide with ids. It serves for a day", r.Table, r.NumberFrom)
	}
	return b.String()
}

func stamp(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// CheckTable examines the table of a model before the plugin fills its keys. The report
// says whether new ids sort after the stored keys, whether the column takes and can hold
// them, and whether JavaScript clients can read them.
//
//	report, err := gormplugin.CheckTable(ctx, db, &Order{}, layout, gormplugin.Config{})
//	fmt.Println(report)
//
// The table is that of db.Table, if set, or else the model's. cfg is the plugin's
// configuration: its Convert makes the keys that are compared. The time is this
// machine's. CheckTable reads the catalog, the largest key, and the number of keys that
// are not before the first id. The two reads of keys scan the table unless an index
// begins with the key. CheckTable does not examine columns that refer to the key.
//
// CheckTable fails when it cannot examine the table:
//
//   - the plugin leaves the model alone;
//   - the key cannot be filled (ErrKey), or its column has an unknown type;
//   - cfg is invalid;
//   - the layout is invalid, begins in the future or ends within a year;
//   - there is no such table or column, or the database fails.
func CheckTable(ctx context.Context, db *gorm.DB, model any, layout snowflake.Layout, cfg Config) (*TableReport, error) {
	r, err := checkTable(db.Session(&gorm.Session{Context: ctx}), model, layout.WithDefaults(), cfg)
	if err != nil {
		return nil, fmt.Errorf("gormplugin: check table of %T: %w", model, err)
	}
	return r, nil
}

func checkTable(db *gorm.DB, model any, layout snowflake.Layout, cfg Config) (*TableReport, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	now := time.Now()
	if err := layout.Validate(); err != nil {
		return nil, err
	}
	if err := layout.CheckTime(now); err != nil {
		return nil, err
	}
	stmt := &gorm.Statement{DB: db}
	if err := stmt.ParseWithSpecialTableName(model, db.Statement.Table); err != nil {
		return nil, err
	}
	p := New(nil, cfg)
	k := p.newKey(stmt.Schema, stmt.Name())
	switch {
	case k == nil || p.excluded(stmt):
		return nil, errors.New("the plugin leaves this model alone; the package documentation says when, under \"What is left alone\"")
	case k.err != nil:
		return nil, k.err
	}
	types, err := db.Migrator().ColumnTypes(model)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(types, func(t gorm.ColumnType) bool { return strings.EqualFold(t.Name(), k.field.DBName) })
	if i < 0 {
		return nil, fmt.Errorf("there is no table %s with a column %s; create it, or name the table with db.Table", stmt.Table, k.field.DBName)
	}
	c, err := classifyColumn(db.Name(), types[i])
	if err != nil {
		return nil, fmt.Errorf("column %s of table %s: %w", k.field.DBName, stmt.Table, err)
	}
	first, err := layout.Encode(snowflake.Parts{Time: now})
	if err != nil {
		return nil, err
	}
	r := &TableReport{
		Table: stmt.Table, Column: k.field.DBName, Type: c.name, Layout: layout,
		First: first, Last: 1<<layout.Bits() - 1,
	}
	r.AutoIncrement, _ = types[i].AutoIncrement()
	if db.Name() == "postgres" {
		err := db.Session(&gorm.Session{NewDB: true}).Raw("SELECT attidentity = 'a' FROM pg_attribute WHERE attrelid = ?::regclass AND attname = ?",
			stmt.Quote(clause.Table{Name: clause.CurrentTable}), k.field.DBName).Scan(&r.Generated).Error
		if err != nil {
			return nil, err
		}
	}
	if err := r.readKeys(db, model, k, c); err != nil {
		return nil, err
	}
	r.judge(db.Statement.Context, k, c)
	if db.Name() == "mysql" && r.AutoIncrement {
		tomorrow, err := layout.Encode(snowflake.Parts{Time: now.AddDate(0, 0, 1), Worker: layout.Workers() - 1})
		if err != nil {
			return nil, err
		}
		if v, err := c.value(k, tomorrow); err == nil && c.holds(v) {
			r.NumberFrom = tomorrow
		}
	}
	return r, nil
}

// readKeys reads the largest key and counts the keys that do not sort before First. The
// database decides the order.
func (r *TableReport) readKeys(db *gorm.DB, model any, k *key, c column) error {
	column := clause.Column{Table: clause.CurrentTable, Name: k.field.DBName}
	rows := func() *gorm.DB {
		return db.Unscoped().Model(model).Where("? IS NOT NULL", column)
	}
	var largest []sql.NullString
	if err := rows().Order(clause.OrderByColumn{Column: column, Desc: true}).Limit(1).Pluck(k.field.DBName, &largest).Error; err != nil {
		return err
	}
	if len(largest) == 0 {
		return nil
	}
	r.Max = largest[0].String
	first, err := c.value(k, r.First)
	if err != nil {
		return err
	}
	if err := rows().Where("? >= ?", column, first).Count(&r.Ahead).Error; err != nil {
		return err
	}
	if r.Ahead == 0 || c.text {
		return nil
	}
	last, err := strconv.ParseInt(r.Max, 10, 64)
	if err != nil {
		return nil // past int64: no epoch helps
	}
	if parts, err := r.Layout.Decode(last); err == nil && parts.Time.Before(time.Now().Add(25*time.Hour)) {
		r.OrderedFrom = parts.Time.Add(r.Layout.TimeUnit)
		return nil
	}
	// Move the epoch back by whole units of time, to just past that of the largest key.
	shift := r.Layout.Bits() - int(r.Layout.TimeBits)
	unit := r.Layout.TimeUnit.Milliseconds()
	moved := r.Layout
	moved.Epoch -= (last>>shift - r.First>>shift + 1) * unit
	if moved.Validate() == nil && moved.CheckTime(time.Now()) == nil {
		r.Epoch = moved.Epoch
	}
	return nil
}

// judge finds out when ids become too large.
func (r *TableReport) judge(ctx context.Context, k *key, c column) {
	// Good ids precede bad ones in each case, so binary search finds the first bad one.
	until := func(good func(id int64) bool) time.Time {
		switch {
		case good(r.Last):
			return r.Layout.Ends()
		case !good(r.First):
			return time.Time{}
		}
		low, high := r.First, r.Last
		for low+1 < high {
			if mid := low + (high-low)/2; good(mid) {
				low = mid
			} else {
				high = mid
			}
		}
		parts, err := r.Layout.Decode(high)
		if err != nil {
			return time.Time{}
		}
		return parts.Time
	}
	r.HoldsUntil = until(func(id int64) bool {
		v, err := c.value(k, id)
		return err == nil && c.holds(v)
	})
	first, err := c.value(k, r.First)
	r.OrderedUntil = until(func(id int64) bool {
		v, err2 := c.value(k, id)
		return !c.text || err == nil && err2 == nil && runes(v) == runes(first)
	})
	quoted := k.quoted(ctx)
	r.JavaScriptUntil = until(func(id int64) bool { return quoted || id <= maxJavaScript })
}

// quoted reports whether the model's JSON quotes its key or leaves it out.
func (k *key) quoted(ctx context.Context) bool {
	tag := k.field.Tag.Get("json")
	if tag == "-" || strings.Contains(tag+",", ",string,") {
		return true
	}
	row := reflect.New(k.field.Schema.ModelType).Elem()
	slot, _ := k.find(ctx, row)
	if err := k.set(ctx, slot, 1); err != nil {
		return false
	}
	b, err := json.Marshal(k.field.ReflectValueOf(ctx, row).Interface())
	return err == nil && len(b) > 0 && b[0] == '"'
}
