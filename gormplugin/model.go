package gormplugin

import (
	"fmt"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// Model is a base for models that replaces gorm.Model. It has the same columns and soft delete,
// but the id comes from the plugin instead of AUTO_INCREMENT, also with TaggedOnly.
//
// Its JSON differs from that of gorm.Model: the names are id, created_at, updated_at and
// deleted_at, and the id is a string, since JavaScript rounds integers above 2^53. For the
// same reason make foreign keys snowflake.IDs. To keep the JSON of a model, keep its fields
// and tag its key as below, without json:"id,string".
//
// Do not bind a request to a Model: an id that the client sends is stored as it is, and
// Save overwrites the row that has it. Bind a struct with the fields that a client may set.
//
//	type Order struct {
//		gormplugin.Model
//		Total int64
//	}
//
// If nothing fills the zero key of a Model, for example on a database without the plugin, its
// INSERT fails with ErrKey. After Unscoped, GORM skips this check.
//
// A model that needs only the key declares the key, without that check:
//
//	ID int64 `gorm:"primaryKey;autoIncrement:false" json:"id,string"`
type Model struct {
	Guard     guard          `gorm:"-:all" json:"-" yaml:"-" xml:"-" bson:"-" toml:"-" msgpack:"-"` // empty, without a column
	ID        int64          `gorm:"primaryKey;autoIncrement:false" json:"id,string" idworker:"true"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
	DeletedAt gorm.DeletedAt `gorm:"index" json:"deleted_at"`
}

// A guard makes GORM check the keys of a Model, through a clause of a field. A hook of Model
// would hide the hook of another embedded struct.
type guard struct{}

// CreateClauses implements schema.CreateClausesInterface.
func (g guard) CreateClauses(*schema.Field) []clause.Interface { return []clause.Interface{g} }

// ModifyStatement fails an INSERT that would store the key 0. It adds nothing to the SQL.
func (guard) ModifyStatement(stmt *gorm.Statement) {
	key := stmt.Schema.PrioritizedPrimaryField
	if key == nil || key.HasDefaultValue || key.FieldType.Kind() != reflect.Int64 {
		return
	}
	rows, missing := stmt.ReflectValue, false
	if rows.Kind() == reflect.Map { // the database may fill its key
		return
	}
	for i := range length(rows) {
		if row := rowAt(rows, i); row.IsValid() && row.Type() == stmt.Schema.ModelType {
			_, zero := key.ValueOf(stmt.Context, row)
			missing = missing || zero
		}
	}
	if !missing {
		return
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	if inserted, named := columns[key.DBName]; named && !inserted || !named && restricted {
		return
	}
	advice := unregistered
	if _, ok := stmt.Plugins[pluginName]; ok {
		advice = leftAlone
	}
	_ = stmt.AddError(fmt.Errorf("%w: %s has a zero key, and %s", ErrKey, stmt.Schema.Name, advice))
}

// The causes of a zero key, and what to do.
const (
	unregistered = "this *gorm.DB has no plugin to fill it: add idworker.GORM to the fx application, " +
		"or call db.Use(gormplugin.New(worker, gormplugin.Config{})), also for a *gorm.DB other than the one that Module serves"
	leftAlone = "the plugin leaves it alone: set the key, or remove what excludes it, which is Config.Exclude, SkipKey, the tag `idworker:\"-\"`, or a hook that makes the key zero"
)

// Name implements clause.Interface, and so do Build and MergeClause. GORM does not call them.
func (guard) Name() string               { return "" }
func (guard) Build(clause.Builder)       {}
func (guard) MergeClause(*clause.Clause) {}
