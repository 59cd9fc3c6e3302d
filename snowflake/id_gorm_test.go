package snowflake_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/snowflake"
)

type customer struct {
	ID     snowflake.ID
	Name   string
	Orders []order
}

type order struct {
	ID         snowflake.ID
	CustomerID snowflake.ID
	Parent     *snowflake.ID
}

// In every dialect a column of type ID is a BIGINT, and as a primary key it is not
// AUTO_INCREMENT.
func TestIDIsABigintInGORM(t *testing.T) {
	t.Parallel()
	s, err := schema.Parse(&order{}, new(sync.Map), schema.NamingStrategy{})
	require.NoError(t, err)
	for _, d := range []gorm.Dialector{mysql.New(mysql.Config{}), postgres.Open(""), sqlite.Open("")} {
		for _, name := range []string{"ID", "CustomerID", "Parent"} {
			field := s.LookUpField(name)
			require.Equal(t, "bigint", d.DataTypeOf(field), "%s %s", d.Name(), name)
			require.False(t, field.AutoIncrement)
			require.False(t, field.HasDefaultValue)
		}
	}
}

func TestIDInGORM(t *testing.T) {
	t.Parallel()
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "a.db")), &gorm.Config{})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	require.NoError(t, db.AutoMigrate(&customer{}, &order{}))
	require.NoError(t, db.AutoMigrate(&customer{}, &order{}), "again")

	parent := snowflake.ID(1<<62 + 1)
	in := customer{ID: 1<<62 + 7, Name: "a", Orders: []order{{ID: parent}, {ID: 1<<62 + 2, Parent: &parent}}}
	require.NoError(t, db.Create(&in).Error)
	require.Equal(t, in.ID, in.Orders[0].CustomerID)
	var out customer
	require.NoError(t, db.Preload("Orders").First(&out, in.ID).Error)
	require.Equal(t, in, out)
	var orders []order
	require.NoError(t, db.Where("id IN ?", []snowflake.ID{parent}).Or(&order{Parent: &parent}).Order("id").Find(&orders).Error)
	require.Equal(t, in.Orders, orders)
	require.NoError(t, db.Model(&order{}).Where("id = ?", parent).Update("parent", nil).Error)
	var ids []snowflake.ID
	require.NoError(t, db.Model(&order{}).Order("id").Pluck("id", &ids).Error)
	require.Equal(t, []snowflake.ID{parent, 1<<62 + 2}, ids)
}
