package gormplugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/gormplugin"
)

type (
	// Before and After are one table, as old and new instances see it.
	Before struct {
		ID   int64
		Name string
	}
	After struct {
		ID   int64 `idworker:"true"`
		Name string
	}
)

func (Before) TableName() string { return "moving" }
func (After) TableName() string  { return "moving" }

// TestFromAutoIncrement runs the steps of docs/gorm.md from AUTO_INCREMENT, and back.
func TestFromAutoIncrement(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dialector, _ := d.open(t)
			old := open(t, dialector(), nil, &Before{})
			var last int64 // the last number that the database gave
			numbered := func() int64 {
				row := Before{Name: "old"}
				require.NoError(t, old.Create(&row).Error)
				last = row.ID
				return row.ID
			}
			exec := func(statement string) { require.NoError(t, old.Exec(statement).Error) }
			require.EqualValues(t, 1, numbered())
			require.EqualValues(t, 2, numbered())

			// Fill: old and new instances insert side by side.
			generator := newGenerator(t)
			db := open(t, dialector(), gormplugin.New(generator, gormplugin.Config{Scope: gormplugin.ScopeTagged}))
			filled := func() int64 {
				// This does not provoke the duplicate key that docs/gorm.md warns of.
				for id := int64(0); id <= last; {
					var err error
					id, err = generator.NextID()
					require.NoError(t, err)
				}
				row := After{Name: "new"}
				require.NoError(t, db.Create(&row).Error)
				require.Greater(t, row.ID, int64(1e15))
				return row.ID
			}
			id := filled()
			next := id + 1 // may be the next id of a worker
			if d.name == "postgres" {
				next = 3
			}
			require.Equal(t, next, numbered())

			// Finish: an INSERT without GORM fails.
			past := func() error { return old.Exec("INSERT INTO moving (name) VALUES ('past')").Error }
			require.NoError(t, past())
			last = next + 1
			switch d.name {
			case "sqlite":
				return // SQLite numbers every INTEGER PRIMARY KEY
			case "postgres":
				exec("ALTER TABLE moving ALTER COLUMN id DROP DEFAULT")
				require.ErrorContains(t, past(), "null value")
				filled()
				exec("ALTER TABLE moving ALTER COLUMN id SET DEFAULT nextval('moving_id_seq')")
				require.EqualValues(t, 5, numbered())
			default:
				exec("ALTER TABLE moving MODIFY id BIGINT NOT NULL")
				require.ErrorContains(t, past(), "default value")
				id = filled()
				exec("ALTER TABLE moving MODIFY id BIGINT NOT NULL AUTO_INCREMENT")
				require.Equal(t, id+1, numbered())
			}
		})
	}
}
