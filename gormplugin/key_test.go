package gormplugin_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/snowflake"
)

type (
	Small     struct{ ID int32 }
	SmallUint struct{ ID uint16 }
	SmallNull struct{ ID sql.NullInt32 }
	SmallDB   struct {
		ID int64 `gorm:"size:32"`
	}
	ShortText struct {
		ID string `gorm:"size:2"`
	}
	BadTag struct {
		ID int64 `idworker:"yes"`
	}
	NotAKey struct {
		ID int64
		No int64 `idworker:"true"`
	}
	Nameless struct {
		ID int64 `idworker:"segment="`
	}
	TwoTagged struct {
		A int64 `gorm:"primaryKey" idworker:"true"`
		B int64 `gorm:"primaryKey" idworker:"true"`
	}
	TaggedFloat struct {
		ID float64 `gorm:"primaryKey" idworker:"true"`
	}

	OptOut struct {
		ID int64 `idworker:"-"`
	}
	OptOutBase struct {
		gorm.Model `idworker:"-"`
	}
	OptIn struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false" idworker:"true"`
	}
	OptInBase struct {
		gormplugin.Model `idworker:"true"`
	}
	Hash struct{ ID [4]byte }
	Flag struct {
		ID sql.NullBool `gorm:"primaryKey"`
	}
	Defaulted struct {
		ID string `gorm:"primaryKey;default:x"`
	}
	DefaultNull struct {
		ID int64 `gorm:"primaryKey;default:NULL;autoIncrement:false"`
	}
	UUID struct {
		ID string `gorm:"primaryKey;type:uuid"`
	}
	ReadOnly struct {
		ID int64 `gorm:"primaryKey;<-:false"`
	}
	NoKey     struct{ Name string }
	Extension struct {
		PlainID int64 `gorm:"primaryKey;autoIncrement:false"`
		Plain   *Plain
	}
)

// A key that cannot hold an id fails the statement, but only if it is zero.
func TestKeyFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		row  any
		says []string
	}{
		"int32":         {&Small{}, []string{"ID of", "gormplugin_test.Small", "int32 has 32 bits", "int64"}},
		"uint16":        {&SmallUint{}, []string{"uint16 has 16 bits"}},
		"NullInt32":     {&SmallNull{}, []string{"sql.NullInt32"}},
		"32-bit column": {&SmallDB{}, []string{"size:32 is too small", "remove the tag"}},
		"short text":    {&ShortText{}, []string{"2 characters", "at least 19"}},
		"unknown tag":   {&BadTag{}, []string{`idworker:"yes"`, `"true", "segment=" with a name, or "-"`}},
		"no key":        {&NotAKey{}, []string{"No of", "not a primary key"}},
		"no name":       {&Nameless{}, []string{`"segment=" with a name`}},
		"two tagged":    {&TwoTagged{}, []string{"B of", "as A is"}},
		"tagged float":  {&TaggedFloat{}, []string{"float64 is unknown", "Config.Convert"}},
		"Convert fails": {&Base36{}, []string{"Config.Convert: broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := func(key *schema.Field, _ int64) (any, error) {
				if key.Schema.Name == "Base36" {
					return nil, errors.New("broken")
				}
				return nil, nil
			}
			db := openSQLite(t, gormplugin.New(&counter{last: 1000}, gormplugin.Config{Convert: broken}), tt.row)
			for _, err := range []error{db.Create(tt.row).Error, db.Model(tt.row).Create([]map[string]any{{}}).Error} {
				require.ErrorIs(t, err, gormplugin.ErrKey)
				for _, says := range tt.says {
					require.ErrorContains(t, err, says)
				}
			}
			var n int64
			require.NoError(t, db.Model(tt.row).Count(&n).Error)
			require.Zero(t, n)
		})
	}
	db := openSQLite(t, gormplugin.New(&counter{}, gormplugin.Config{}), &Small{})
	require.NoError(t, db.Create(&Small{ID: 5}).Error)
	require.NoError(t, db.Set(gormplugin.SkipKey, true).Create(&Small{}).Error)
}

func TestTaggedOnly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		row         any
		all, tagged bool
	}{
		"plain key":                {&Plain{}, true, false},
		"AUTO_INCREMENT key":       {&Auto{}, true, false},
		"tagged":                   {&OptIn{}, true, true},
		"base tagged":              {&OptInBase{}, true, true},
		"chosen of a composite":    {&Chosen{}, true, true},
		"opted out":                {&OptOut{}, false, false},
		"base opted out":           {&OptOutBase{}, false, false},
		"array":                    {&Hash{ID: [4]byte{}}, false, false},
		"NullBool":                 {&Flag{}, false, false},
		"default of the database":  {&Defaulted{}, false, false},
		"default of 0":             {&DefaultZero{}, true, false},
		"default of NULL":          {&DefaultNull{}, true, false},
		"uuid":                     {&UUID{}, false, false},
		"read only":                {&ReadOnly{}, false, false},
		"without a key":            {&NoKey{}, false, false},
		"key that refers to a row": {&Extension{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for taggedOnly, filled := range map[bool]bool{false: tt.all, true: tt.tagged} {
				gen := &counter{}
				db := openSQLite(t, gormplugin.New(gen, gormplugin.Config{TaggedOnly: taggedOnly}))
				tx := db.Session(&gorm.Session{DryRun: true}).Create(tt.row)
				require.NoError(t, tx.Error)
				require.Equal(t, filled, len(gen.asked) == 1, "tagged only: %v", taggedOnly)
				_, err := gormplugin.CheckTable(t.Context(), db, tt.row, snowflake.Layout{}, gormplugin.Config{TaggedOnly: taggedOnly})
				require.Equal(t, !filled, strings.Contains(err.Error(), "leaves this model alone"), err)
				// The next round needs a zero key.
				if f := tx.Statement.Schema.PrioritizedPrimaryField; filled && f != nil {
					require.NoError(t, f.Set(t.Context(), tx.Statement.ReflectValue, 0))
				}
				if c, ok := tt.row.(*Chosen); ok {
					c.No = 0
				}
			}
		})
	}
}

// GORM's own errors stay, except for a row by value, where GORM panics and leaves a
// transaction open.
func TestNotAddressable(t *testing.T) {
	t.Parallel()
	gen := &counter{}
	db := openSQLite(t, gormplugin.New(gen, gormplugin.Config{}), &Plain{}, &Auto{})
	pool, err := db.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(1) // a transaction left open would block what follows
	for _, v := range []any{Plain{}, Auto{}, [2]Plain{}, [1]Auto{}} {
		err := db.Create(v).Error
		require.ErrorIs(t, err, gorm.ErrInvalidValue)
		require.ErrorContains(t, err, "pass a pointer")
	}
	require.ErrorIs(t, db.Model(&Plain{}).Create([]map[string]any{nil}).Error, gorm.ErrInvalidData)
	require.ErrorIs(t, db.Create([]*Plain{nil}).Error, gorm.ErrInvalidData)
	require.ErrorIs(t, db.Create([]Plain{}).Error, gorm.ErrEmptySlice)
	require.ErrorIs(t, db.Model(&Plain{}).Create([]map[string]any{}).Error, gorm.ErrEmptySlice)
	require.Error(t, db.Create((*Plain)(nil)).Error)
	require.ErrorIs(t, db.Model(&Plain{}).Create((*map[string]any)(nil)).Error, gorm.ErrInvalidValue)
	require.ErrorIs(t, db.Model(&Plain{}).Create((*[]map[string]any)(nil)).Error, gorm.ErrInvalidValue)
	require.Error(t, db.Model(&Plain{}).Create(7).Error)
	require.Empty(t, gen.asked)
	require.NoError(t, db.Create(Plain{ID: 4}).Error)
}
