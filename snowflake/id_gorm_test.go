package snowflake_test

import (
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
