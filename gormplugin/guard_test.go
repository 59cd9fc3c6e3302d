package gormplugin_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
)

type (
	guarded struct {
		gormplugin.Model
		Name string
	}
	audited struct{ Audits int }
	// hooked has a hook from another embedded struct, which Model must not hide.
	hooked struct {
		gormplugin.Model
		audited
	}
	// ownKey has a key of its own in place of Model's.
	ownKey struct {
		gormplugin.Model
		ID string `gorm:"primaryKey"`
	}
)

func (a *audited) BeforeCreate(*gorm.DB) error {
	a.Audits++
	return nil
}

// A database without the plugin stores no Model with the key 0.
func TestModelWithoutThePlugin(t *testing.T) {
	t.Parallel()
	db := openSQLite(t, nil, &guarded{}, &hooked{}, &ownKey{})
	for name, insert := range map[string]*gorm.DB{
		"one":              db.Create(&guarded{}),
		"several":          db.Create([]guarded{{Model: gormplugin.Model{ID: 7}}, {}}),
		"pointers":         db.Create([]*guarded{{}}),
		"without hooks":    db.Session(&gorm.Session{SkipHooks: true}).Create(&guarded{}),
		"another embedded": db.Create(&hooked{}),
	} {
		require.ErrorIs(t, insert.Error, gormplugin.ErrKey, name)
		require.ErrorContains(t, insert.Error, "add idworker.GORM to the fx application, or call db.Use(gormplugin.New(worker, gormplugin.Config{}))", name)
	}
	var n int64
	require.NoError(t, db.Unscoped().Model(&guarded{}).Count(&n).Error)
	require.Zero(t, n)
	require.NoError(t, db.Unscoped().Create(&guarded{}).Error, "documented: GORM calls no guard then")
	require.NoError(t, db.Unscoped().Delete(&guarded{}, 0).Error)

	// Keys that the application sets are its own.
	require.NoError(t, db.Create(&guarded{Model: gormplugin.Model{ID: 5}}).Error)
	require.NoError(t, db.Model(&guarded{}).Create(map[string]any{"ID": 6}).Error)
	row := hooked{Model: gormplugin.Model{ID: 5}}
	require.NoError(t, db.Create(&row).Error)
	require.Equal(t, 1, row.Audits, "the hook of the other embedded struct")
	require.NoError(t, db.Create(&ownKey{}).Error)
}

// A plugin that leaves a Model alone stores none with the key 0 either. TaggedOnly leaves
// none alone.
func TestModelWithThePlugin(t *testing.T) {
	t.Parallel()
	type (
		Apart struct {
			gormplugin.Model `idworker:"-"`
		}
		Numbered struct {
			gorm.Model `idworker:"true"`
		}
	)
	tagged := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{TaggedOnly: true}), &guarded{}, &Plain{}, &Apart{}, &Numbered{})
	rows := make([]guarded, 2)
	require.NoError(t, tagged.Create(&rows).Error)
	require.NotZero(t, rows[0].ID)
	require.NotEqual(t, rows[0].ID, rows[1].ID)
	numbered := Numbered{}
	require.NoError(t, tagged.Create(&numbered).Error)
	require.Greater(t, uint64(numbered.ID), uint64(1<<40), "the key is no id")
	plain := Plain{}
	require.NoError(t, tagged.Create(&plain).Error)
	require.Zero(t, plain.ID)

	excluding := openSQLite(t, gormplugin.New(newGenerator(t), gormplugin.Config{Exclude: []string{"guardeds"}}), &guarded{})
	for name, insert := range map[string]*gorm.DB{
		"tagged -": tagged.Create(&Apart{}),
		"SkipKey":  tagged.Set(gormplugin.SkipKey, true).Create(&guarded{}),
		"excluded": excluding.Create(&guarded{}),
	} {
		require.ErrorIs(t, insert.Error, gormplugin.ErrKey, name)
		require.ErrorContains(t, insert.Error, "the plugin leaves it alone", name)
		require.NotContains(t, insert.Error.Error(), "no plugin", name)
	}
	for _, own := range []error{
		tagged.Create(&Apart{gormplugin.Model{ID: 5}}).Error,
		excluding.Create(&guarded{Model: gormplugin.Model{ID: 5}}).Error,
		excluding.Omit("ID").Create(&guarded{}).Error, // the database numbers the row
		excluding.Select("Name").Create(&guarded{}).Error,
	} {
		require.NoError(t, own)
	}
}

// The guard shows nowhere else.
func TestModelEncodes(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(gormplugin.Model{ID: 1})
	require.NoError(t, err)
	require.NotContains(t, string(text), "uard")
	require.Regexp(t, `^{"id":"1","created_at":"[^"]+","updated_at":"[^"]+","deleted_at":null}$`, string(text))
	require.ErrorContains(t, json.Unmarshal([]byte(`{"id":5}`), &gormplugin.Model{}), "invalid use of ,string struct tag")
	text, err = xml.Marshal(guarded{})
	require.NoError(t, err)
	require.NotContains(t, string(text), "Guard>")
	for _, format := range []string{"bson", "toml", "msgpack"} {
		tag := reflect.TypeFor[gormplugin.Model]().Field(0).Tag.Get(format)
		require.Equal(t, "-", tag, format)
	}
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(guarded{Name: "a"}))
	var back guarded
	require.NoError(t, gob.NewDecoder(&buf).Decode(&back))
	require.Equal(t, "a", back.Name)
	columns, err := openSQLite(t, nil, &guarded{}).Migrator().ColumnTypes(&guarded{})
	require.NoError(t, err)
	require.Len(t, columns, 5)
}
