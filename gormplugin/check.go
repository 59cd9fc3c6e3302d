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

// maxJavaScript is the last integer that a JavaScript number tells from its
// neighbors.
const maxJavaScript = 1<<53 - 1

// A TableReport says whether a table that has rows can go over to the ids of a layout.
// CheckTable makes it; String is for people.
type TableReport struct {
	Table  string
	Column string
	Type   string // of the column, as the database names it
	Layout snowflake.Layout

	// First is the least id that the layout issues from now on, Last the largest that
	// it ever does.
	First, Last int64
	// Max is the largest key that is stored, as text; "" in an empty table.
	Max string
	// Ahead is the number of rows whose key does not sort before First.
	Ahead int64
	// Epoch is the latest epoch, in Unix milliseconds, from which new ids would sort
	// after all rows; 0 where none would or where they do already.
	Epoch int64
	// HoldsUntil is when the first id comes that the column does not hold: the zero
	// Time for an id of now, Layout.Ends() for none at all.
	HoldsUntil time.Time
	// OrderedUntil is when the text of ids gets longer, so that newer ones sort before
	// older ones; Layout.Ends() for never, as with numbers.
	OrderedUntil time.Time
	// JavaScriptUntil is when the first id comes that JavaScript clients read wrongly:
	// the zero Time for an id of now, Layout.Ends() for none at all, as where the model's
	// JSON has keys in quotes.
	JavaScriptUntil time.Time
	// AutoIncrement tells whether the database numbers rows that come without a key. It
	// is not told of SQLite, which does so with every INTEGER PRIMARY KEY.
	AutoIncrement bool
}

// SortsAfter tells whether every new id sorts after every key that is stored.
func (r *TableReport) SortsAfter() bool { return r.Ahead == 0 }

// Holds tells whether the column holds every id that the layout ever issues.
func (r *TableReport) Holds() bool { return r.HoldsUntil.Equal(r.Layout.Ends()) }

// JavaScriptSafe tells whether JavaScript clients read every id as it is.
func (r *TableReport) JavaScriptSafe() bool { return r.JavaScriptUntil.Equal(r.Layout.Ends()) }

// String is the report in a few lines, with what to do.
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
	case r.Epoch > 0:
		line("order: NO, %d keys up to %s do not sort before new ids: an epoch of %d or earlier puts new ids after them", r.Ahead, r.Max, r.Epoch)
	default:
		line("order: NO, %d keys up to %s do not sort before new ids", r.Ahead, r.Max)
	}
	if r.OrderedUntil.Before(ends) {
		line("order: NO from %s on, when the text of ids gets longer: newer ones then sort before older ones", stamp(r.OrderedUntil))
	}
	switch {
	case r.Holds():
		line("column: ok, it holds every id")
	case r.HoldsUntil.IsZero():
		line("column: NO, it cannot hold an id: make it BIGINT, or longer text, and the columns that refer to it")
	default:
		line("column: NO from %s on: make it BIGINT, or longer text, and the columns that refer to it", stamp(r.HoldsUntil))
	}
	switch {
	case r.JavaScriptSafe():
		line("JavaScript: ok")
	case r.JavaScriptUntil.IsZero():
		line("JavaScript: NO, ids are past 2^53: tag the key `json:\",string\"`, make it a snowflake.ID, or choose the layout JSSafe")
	default:
		line("JavaScript: NO from %s on, when ids pass 2^53: tag the key `json:\",string\"` or make it a snowflake.ID", stamp(r.JavaScriptUntil))
	}
	if r.AutoIncrement {
		line("AUTO_INCREMENT: the database numbers rows that come without a key: keep it while instances without the plugin insert, then take it off the column")
	}
	return b.String()
}

func stamp(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// CheckTable looks at the table of a model before the plugin fills its keys: whether
// new ids sort after the keys that are there, whether the column holds them and
// whether JavaScript clients can read them. db may name the table, cfg is the plugin's
// (Convert makes the keys that are compared), now is this machine's time.
//
//	report, err := gormplugin.CheckTable(ctx, db, &Order{}, layout, gormplugin.Config{})
//	fmt.Println(report)
//
// It reads the catalog, the largest key and those that are not before the first id:
// two reads of the key's index where it begins one, of the table otherwise. Columns
// that refer to the key are not looked at. An error means that it could not look: the
// model is left alone by cfg, or its key cannot be filled (ErrKey), the layout does
// not fit the time, there is no such table or column, or its type is unknown.
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
	k := p.keyOf(stmt.Schema)
	switch {
	case k == nil || p.excluded(stmt):
		return nil, errors.New("the plugin leaves it alone: see What is left alone in the package documentation")
	case k.err != nil:
		return nil, k.err
	}
	types, err := db.Migrator().ColumnTypes(model)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(types, func(t gorm.ColumnType) bool { return strings.EqualFold(t.Name(), k.field.DBName) })
	if i < 0 {
		return nil, fmt.Errorf("there is no table %s with a column %s", stmt.Table, k.field.DBName)
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
	if err := r.readKeys(db, model, k, c); err != nil {
		return nil, err
	}
	r.judge(db.Statement.Context, k, c)
	return r, nil
}

// readKeys reads the largest key and counts those in the way of First, by the order
// of the database.
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
	// The epoch moves by whole units, and by one more for the tick of the largest key.
	if last, err := strconv.ParseInt(r.Max, 10, 64); err == nil {
		shift := r.Layout.Bits() - int(r.Layout.TimeBits)
		unit := r.Layout.TimeUnit.Milliseconds()
		moved := r.Layout
		moved.Epoch -= (last>>shift - r.First>>shift + 1) * unit
		if moved.Validate() == nil && moved.CheckTime(time.Now()) == nil {
			r.Epoch = moved.Epoch
		}
	}
	return nil
}

// judge says from when on the ids are too large, for what is looked at.
func (r *TableReport) judge(ctx context.Context, k *key, c column) {
	// In each case the ids that are good come before those that are not.
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

// quoted tells whether the model's JSON has its key in quotes, or not at all.
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
