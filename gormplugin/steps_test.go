package gormplugin_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
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

// TestSideBySideWithAutoIncrement: while ids are ahead of the clock, each is the last one
// plus 1, which is what MySQL gives the next row of an old instance. With the statement of
// CheckTable, old and new instances do not collide.
func TestSideBySideWithAutoIncrement(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, dialect string, dialector func() gorm.Dialector, _ *sql.DB) {
		if dialect == "sqlite" {
			return // has no such statement
		}
		gen, now := generator.New(snowflake.Layout{}), time.Now().UnixMilli()
		ahead := now + time.Hour.Milliseconds()
		_, err := gen.Adopt(generator.Range{Worker: worker, Floor: ahead, Ceiling: ahead + 1000, Now: now, At: gen.Elapsed()})
		require.NoError(t, err)
		old := open(t, dialector(), nil, &Before{})
		db := open(t, dialector(), gormplugin.New(gen, gormplugin.Config{TaggedOnly: true}))
		require.NoError(t, old.Create(&Before{Name: "first"}).Error)

		exec := func(statement string) { require.NoError(t, old.Exec(statement).Error) }
		check := func() *gormplugin.TableReport {
			r, err := gormplugin.CheckTable(t.Context(), old, &After{}, snowflake.Layout{}, gormplugin.Config{})
			require.NoError(t, err)
			return r
		}
		separate := func() { // runs the statement that CheckTable prints
			_, statement, _ := strings.Cut(check().String(), "run ")
			statement, _, _ = strings.Cut(statement, ";")
			exec(statement)
		}
		sideBySide := func() {
			for range 20 {
				require.NoError(t, db.Create(&After{Name: "new"}).Error)
				require.NoError(t, old.Create(&Before{Name: "old"}).Error)
			}
		}
		if dialect == "postgres" {
			require.Zero(t, check().NumberFrom) // the sequence does not follow the largest key
			sideBySide()
			return
		}
		// As long as the column is too small, there is no such number.
		exec("ALTER TABLE moving MODIFY id INT NOT NULL AUTO_INCREMENT")
		require.Zero(t, check().NumberFrom)
		exec("ALTER TABLE moving MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT")
		r := check()
		parts, err := r.Layout.Decode(r.NumberFrom)
		require.NoError(t, err)
		require.WithinRange(t, parts.Time, time.Now().Add(23*time.Hour), time.Now().Add(25*time.Hour))
		separate()
		sideBySide()

		// These keys are no reason to move the epoch: they pass by.
		r = check()
		require.NotZero(t, r.Ahead)
		require.Zero(t, r.Epoch)
		require.WithinRange(t, r.OrderedFrom, parts.Time, parts.Time.Add(time.Hour))
		require.Contains(t, r.String(), "order: not yet, ")
		require.NotContains(t, r.String(), "epoch of")

		// Back, when a day has passed since the last old instance.
		exec("DELETE FROM moving WHERE name = 'old'")
		exec("ALTER TABLE moving MODIFY id BIGINT UNSIGNED NOT NULL")
		require.NoError(t, db.Create(&After{Name: "new"}).Error)
		exec("ALTER TABLE moving MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT")
		separate()
		sideBySide()
	})
}
