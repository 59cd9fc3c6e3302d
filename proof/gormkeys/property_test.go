package gormkeys

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"
	"pgregory.net/rapid"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/publicid"
	"github.com/snowlease/snowlease/snowflake"
)

// A level describes a model made at run time: its key, and its association with the next
// level.
type level struct {
	Key   string // one of keyTypes
	Embed string // one of embeddings: where the key lies
	Tag   string // what the key's tag has besides primaryKey
	Next  string // one of relations; "" at the last level
}

// A story describes models, each associated with the next, and a way to write rows of
// the first.
type story struct {
	Levels   []level
	Write    string // one of waysToWrite
	Children []int  // the number of children of each row, repeated
	Preset   []bool // whether each row has a key before the INSERT, repeated
}

type (
	orderID int64
	sku     uint64
	order   struct{}
)

var orders = publicid.Must(publicid.New("ord"))

func (order) Codec() *publicid.Codec { return orders }

var keyTypes = map[string]reflect.Type{
	"int": reflect.TypeFor[int](), "uint": reflect.TypeFor[uint](), "int64": reflect.TypeFor[int64](), "uint64": reflect.TypeFor[uint64](),
	"type of int64": reflect.TypeFor[orderID](), "type of uint64": reflect.TypeFor[sku](), "snowflake.ID": reflect.TypeFor[snowflake.ID](), "publicid.ID": reflect.TypeFor[publicid.ID[order]](),
	"string": reflect.TypeFor[string](), "*int64": reflect.TypeFor[*int64](), "*string": reflect.TypeFor[*string](),
	"sql.NullInt64": reflect.TypeFor[sql.NullInt64](), "sql.Null[int64]": reflect.TypeFor[sql.Null[int64]](), "[]byte": reflect.TypeFor[[]byte](),
}

var (
	embeddings  = []string{"none", "anonymous", "prefixed", "twice", "pointer", "named pointer"}
	relations   = []string{"has one", "has one pointer", "has many", "has many pointers", "belongs to", "belongs to pointer", "many to many"}
	waysToWrite = []string{"struct", "slice", "pointers", "array", "batches", "Save", "Save slice", "upsert", "CreateBatchSize", "full save", "transaction", "select", "map", "maps"}
)

func stories() *rapid.Generator[story] {
	kinds := slices.Sorted(maps.Keys(keyTypes))
	return rapid.Custom(func(t *rapid.T) story {
		var s story
		depth := rapid.IntRange(1, 4).Draw(t, "levels")
		for i := range depth {
			l := level{
				Key:   rapid.SampledFrom(kinds).Draw(t, "key"),
				Embed: rapid.SampledFrom(embeddings).Draw(t, "embedding"),
				Tag:   rapid.SampledFrom([]string{"", ";autoIncrement:false", ";column:no"}).Draw(t, "tag"),
			}
			if i < depth-1 {
				l.Next = rapid.SampledFrom(relations).Draw(t, "association")
			}
			s.Levels = append(s.Levels, l)
		}
		s.Write = rapid.SampledFrom(waysToWrite).Draw(t, "write")
		s.Children = rapid.SliceOfN(rapid.IntRange(0, 3), 3, 3).Draw(t, "children")
		s.Preset = rapid.SliceOfN(rapid.Bool(), 5, 5).Draw(t, "preset")
		return s
	})
}

// A built is a story with its types and tables.
type built struct {
	story
	types  []reflect.Type
	paths  [][]int // to the key of each level
	tables []string
	rows   []int // the number of rows made on each level
	// For each level, the keys of rows with a preset, of all rows, and of join rows.
	presets, keys, pairs [][]string
}

func build(s story, prefix string) *built {
	b := &built{
		story: s, types: make([]reflect.Type, len(s.Levels)), paths: make([][]int, len(s.Levels)), rows: make([]int, len(s.Levels)),
		presets: make([][]string, len(s.Levels)), keys: make([][]string, len(s.Levels)), pairs: make([][]string, len(s.Levels)),
	}
	for i := range s.Levels {
		b.tables = append(b.tables, fmt.Sprintf("%s_%d", prefix, i))
	}
	for i := len(s.Levels) - 1; i >= 0; i-- {
		l := s.Levels[i]
		key := reflect.StructField{Name: "ID", Type: keyTypes[l.Key], Tag: reflect.StructTag(`gorm:"primaryKey;size:` + size(l.Key) + l.Tag + `"`)}
		holder := func(inner reflect.StructField, name, tag string, anonymous bool) reflect.StructField {
			return reflect.StructField{Name: name, Type: reflect.StructOf([]reflect.StructField{inner}), Tag: reflect.StructTag(tag), Anonymous: anonymous}
		}
		b.paths[i] = []int{0, 0}
		switch l.Embed {
		case "none":
			b.paths[i] = []int{0}
		case "anonymous":
			key = holder(key, "Base", "", true)
		case "prefixed":
			key = holder(key, "Base", `gorm:"embedded;embeddedPrefix:x_"`, false)
		case "twice":
			key = holder(holder(key, "Inner", `gorm:"embedded;embeddedPrefix:y_"`, false), "Outer", `gorm:"embedded"`, false)
			b.paths[i] = []int{0, 0, 0}
		case "pointer":
			key = holder(key, "Base", "", true)
			key.Type = reflect.PointerTo(key.Type)
		case "named pointer":
			key = holder(key, "Base", `gorm:"embedded;embeddedPrefix:z_"`, false)
			key.Type = reflect.PointerTo(key.Type)
		}
		fields := []reflect.StructField{key, {Name: "Name", Type: reflect.TypeFor[string](), Tag: `gorm:"size:50"`}}
		if i > 0 && s.Levels[i-1].has() {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Parent%d", i-1), Type: keyTypes[s.Levels[i-1].Key], Tag: reflect.StructTag(`gorm:"size:` + size(s.Levels[i-1].Key) + `"`)})
		}
		if l.Next != "" {
			next := reflect.StructField{Name: "Next", Type: b.types[i+1], Tag: reflect.StructTag(fmt.Sprintf(`gorm:"foreignKey:Parent%d;references:ID"`, i))}
			switch l.Next {
			case "has one pointer":
				next.Type = reflect.PointerTo(next.Type)
			case "has many":
				next.Type = reflect.SliceOf(next.Type)
			case "has many pointers":
				next.Type = reflect.SliceOf(reflect.PointerTo(next.Type))
			case "belongs to", "belongs to pointer":
				next.Tag = reflect.StructTag(fmt.Sprintf(`gorm:"foreignKey:Next%d;references:ID"`, i))
				if l.Next == "belongs to pointer" {
					next.Type = reflect.PointerTo(next.Type)
				}
				fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Next%d", i), Type: keyTypes[s.Levels[i+1].Key], Tag: reflect.StructTag(`gorm:"size:` + size(s.Levels[i+1].Key) + `"`)})
			case "many to many":
				next.Type = reflect.SliceOf(next.Type)
				next.Tag = reflect.StructTag(`gorm:"many2many:` + b.join(i) + `;joinForeignKey:OwnerID;joinReferences:OtherID"`)
			}
			fields = append(fields, next)
		}
		b.types[i] = reflect.StructOf(fields)
	}
	return b
}

func (l level) has() bool {
	return slices.Contains([]string{"has one", "has one pointer", "has many", "has many pointers"}, l.Next)
}

func (b *built) join(i int) string { return b.tables[i] + "_join" }

func size(key string) string {
	if slices.Contains([]string{"string", "*string", "[]byte"}, key) {
		return "20"
	}
	return "64"
}

func (b *built) key(i int, row reflect.Value) (v reflect.Value, ok bool) {
	for _, f := range b.paths[i] {
		if row.Kind() == reflect.Pointer {
			if row.IsNil() {
				return row, false
			}
			row = row.Elem()
		}
		row = row.Field(f)
	}
	return row, true
}

// fill makes a row of level i with its associations.
func (b *built) fill(i int, row reflect.Value) {
	n := b.rows[i]
	b.rows[i]++
	row.FieldByName("Name").SetString(fmt.Sprintf("%d of %d", n, i))
	if b.Preset[n%len(b.Preset)] {
		preset := int64(1000 + n)
		if b.paths[i][0] == 0 && row.Field(0).Kind() == reflect.Pointer && len(b.paths[i]) > 1 {
			row.Field(0).Set(reflect.New(row.Field(0).Type().Elem()))
		}
		key, _ := b.key(i, row)
		setKey(key, preset)
		b.presets[i] = append(b.presets[i], fmt.Sprint(preset))
	}
	if b.Levels[i].Next == "" {
		return
	}
	next := row.FieldByName("Next")
	switch next.Kind() {
	case reflect.Struct:
		b.fill(i+1, next)
	case reflect.Pointer:
		next.Set(reflect.New(next.Type().Elem()))
		b.fill(i+1, next.Elem())
	case reflect.Slice:
		count := b.Children[n%len(b.Children)]
		next.Set(reflect.MakeSlice(next.Type(), count, count))
		for j := range count {
			child := next.Index(j)
			if child.Kind() == reflect.Pointer {
				child.Set(reflect.New(child.Type().Elem()))
				child = child.Elem()
			}
			b.fill(i+1, child)
		}
	}
}

func setKey(key reflect.Value, id int64) {
	if key.Kind() == reflect.Pointer {
		key.Set(reflect.New(key.Type().Elem()))
		key = key.Elem()
	}
	switch key.Kind() {
	case reflect.String:
		key.SetString(fmt.Sprint(id))
	case reflect.Slice:
		key.SetBytes(fmt.Append(nil, id))
	case reflect.Struct:
		if err := key.Addr().Interface().(sql.Scanner).Scan(id); err != nil {
			panic(err)
		}
	default:
		key.Set(reflect.ValueOf(id).Convert(key.Type()))
	}
}

// text returns a key as the database shows it.
func text(v any) string {
	if valuer, ok := v.(driver.Valuer); ok {
		v, _ = valuer.Value()
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(rv.Interface())
}

// collect records the keys that the caller's values hold.
func (b *built) collect(i int, row reflect.Value) string {
	if row.Kind() == reflect.Pointer {
		row = row.Elem()
	}
	key := "none"
	if v, ok := b.key(i, row); ok {
		key = text(v.Interface())
	}
	b.keys[i] = append(b.keys[i], key)
	if b.Levels[i].Next == "" {
		return key
	}
	next := row.FieldByName("Next")
	if next.Kind() != reflect.Slice {
		b.collect(i+1, next)
		return key
	}
	for j := range next.Len() {
		child := b.collect(i+1, next.Index(j))
		if b.Levels[i].Next == "many to many" {
			b.pairs[i] = append(b.pairs[i], key+" "+child)
		}
	}
	return key
}

// tell runs one story in its own tables and checks the result.
func tell(t require.TestingT, conn gorm.Dialector, other *sql.DB, s story, prefix string) {
	asMaps := strings.HasPrefix(s.Write, "map")
	if asMaps { // GORM inserts maps without associations
		s.Levels = []level{s.Levels[0]}
		s.Levels[0].Next = ""
	}
	b := build(s, prefix)
	db, err := gorm.Open(conn, &gorm.Config{Logger: logger.Discard, DisableForeignKeyConstraintWhenMigrating: true})
	require.NoError(t, err)
	require.NoError(t, db.Use(gormplugin.New(newGenerator(t), gormplugin.Config{Convert: bytesOnly})))

	// Types made at run time have no name. The cache of this *gorm.DB names their tables,
	// the last one first, since GORM parses associations with the model.
	models, columns := make([]any, len(b.types)), make([]string, len(b.types))
	for i := len(b.types) - 1; i >= 0; i-- {
		models[i] = reflect.New(b.types[i]).Interface()
		stmt := &gorm.Statement{DB: db}
		require.NoError(t, stmt.Parse(models[i]))
		stmt.Schema.Table = b.tables[i]
		columns[i] = stmt.Schema.PrimaryFieldDBNames[0]
	}
	for i, table := range b.tables {
		for _, name := range []string{table, b.join(i)} {
			_, err := other.Exec("DROP TABLE IF EXISTS " + name)
			require.NoError(t, err)
		}
	}
	slices.Reverse(models)
	require.NoError(t, db.AutoMigrate(models...))
	slices.Reverse(models)

	if asMaps {
		b.writeMaps(t, db.Model(models[0]), columns[0])
	} else {
		rows := b.write(t, db)
		for i := range rows.Len() {
			b.collect(0, rows.Index(i))
		}
	}
	for i, table := range b.tables {
		stored := column(t, other, "SELECT "+columns[i]+" FROM "+table)
		require.ElementsMatch(t, b.keys[i], stored, "keys of level %d", i)
		seen := map[string]bool{}
		for _, key := range stored {
			require.False(t, seen[key], "%s twice", key)
			seen[key] = true
			if slices.Contains(b.presets[i], key) {
				continue
			}
			id, err := snowflake.ParseID(key)
			require.NoError(t, err)
			parts, err := snowflake.Layout{}.Decode(int64(id))
			require.NoError(t, err)
			require.EqualValues(t, worker, parts.Worker)
			require.WithinDuration(t, time.Now(), parts.Time, time.Minute)
		}
		for _, key := range b.presets[i] {
			require.True(t, seen[key], "the key %s that was set", key)
		}
		if b.Levels[i].Next == "many to many" {
			owners := column(t, other, "SELECT owner_id FROM "+b.join(i)+" ORDER BY owner_id, other_id")
			others := column(t, other, "SELECT other_id FROM "+b.join(i)+" ORDER BY owner_id, other_id")
			pairs := make([]string, len(owners))
			for j := range owners {
				pairs[j] = owners[j] + " " + others[j]
			}
			require.ElementsMatch(t, b.pairs[i], pairs)
		}
	}
}

func bytesOnly(key *schema.Field, id int64) (any, error) {
	if key.FieldType == keyTypes["[]byte"] {
		return fmt.Append(nil, id), nil
	}
	return nil, nil
}

// column returns the results of a query of one column.
func column(t require.TestingT, db *sql.DB, query string) (all []string) {
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var v string
		require.NoError(t, rows.Scan(&v))
		all = append(all, v)
	}
	require.NoError(t, rows.Err())
	return all
}

// write inserts rows of the first level and returns them as a list.
func (b *built) write(t require.TestingT, db *gorm.DB) reflect.Value {
	const many = 3
	typ := b.types[0]
	one := reflect.New(typ)
	list := reflect.New(reflect.SliceOf(typ))
	list.Elem().Set(reflect.MakeSlice(list.Elem().Type(), many, many))
	rows := list.Elem()
	switch b.Write {
	case "pointers":
		rows = reflect.MakeSlice(reflect.SliceOf(one.Type()), many, many)
		for i := range many {
			rows.Index(i).Set(reflect.New(typ))
		}
	case "array":
		list = reflect.New(reflect.ArrayOf(many, typ))
		rows = list.Elem()
	case "struct", "Save", "full save", "transaction", "select":
		rows = reflect.MakeSlice(reflect.SliceOf(one.Type()), 1, 1)
		rows.Index(0).Set(one)
	}
	for i := range rows.Len() {
		b.fill(0, reflect.Indirect(rows.Index(i)))
	}
	switch b.Write {
	case "struct":
		require.NoError(t, db.Create(one.Interface()).Error)
	case "slice", "array":
		require.NoError(t, db.Create(list.Interface()).Error)
	case "pointers":
		require.NoError(t, db.Create(rows.Interface()).Error)
	case "batches":
		require.NoError(t, db.CreateInBatches(list.Interface(), 2).Error)
	case "Save":
		require.NoError(t, db.Save(one.Interface()).Error)
	case "Save slice":
		require.NoError(t, db.Save(list.Interface()).Error)
	case "upsert":
		require.NoError(t, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(list.Interface()).Error)
	case "CreateBatchSize":
		require.NoError(t, db.Session(&gorm.Session{CreateBatchSize: 2}).Create(list.Interface()).Error)
	case "full save":
		require.NoError(t, db.Session(&gorm.Session{FullSaveAssociations: true}).Create(one.Interface()).Error)
	case "transaction":
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(one.Interface()).Error })
		}))
	case "select":
		// Name each association, down to the last.
		require.NoError(t, db.Select("Name", "Next", "Next.Next", "Next.Next.Next").Create(one.Interface()).Error)
	default:
		panic(b.Write)
	}
	return rows
}

// writeMaps inserts one map or several.
func (b *built) writeMaps(t require.TestingT, db *gorm.DB, column string) {
	rows := []map[string]any{{"Name": "a"}, {"Name": "b", column: nil}, {"Name": "c"}}
	if b.Preset[0] {
		rows[0]["ID"] = int64(1000)
		if strings.Contains(b.Levels[0].Key, "string") {
			rows[0]["ID"] = "1000"
		} else if b.Levels[0].Key == "[]byte" {
			rows[0]["ID"] = []byte("1000")
		}
		b.presets[0] = []string{"1000"}
	}
	if b.Write == "map" {
		rows = rows[:1]
		require.NoError(t, db.Create(rows[0]).Error)
	} else {
		require.NoError(t, db.Create(rows).Error)
	}
	for _, row := range rows {
		key, ok := row["ID"]
		if !ok {
			key = row[column]
		}
		b.keys[0] = append(b.keys[0], text(key))
	}
}

// TestProperty runs many stories on SQLite and some on the servers. It shrinks and prints
// a story that fails.
func TestProperty(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			pool, other := connect(t, d.driver, dsn), connect(t, d.driver, dsn)
			// Each story shares the pool and has its own cache of schemas.
			if d.name == "sqlite" {
				n := 0
				rapid.Check(t, func(rt *rapid.T) {
					n++
					tell(rt, d.dialector(pool), other, stories().Draw(rt, "story"), fmt.Sprintf("t%d", n))
				})
				return
			}
			for seed := range 8 {
				s := stories().Example(seed)
				t.Run(fmt.Sprintf("%d", seed), func(t *testing.T) {
					t.Logf("%+v", s)
					tell(t, d.dialector(pool), other, s, fmt.Sprintf("t%d", seed))
				})
			}
		})
	}
}
