package plugintest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gen"
	"gorm.io/gen/field"
)

// The code of gorm.io/gen gets the type and the tag of a key from its generator.
func TestGen(t *testing.T) {
	t.Parallel()
	dsn, other := newDatabase(t)
	_, err := other.Exec("CREATE TABLE orders (id BIGINT PRIMARY KEY)")
	require.NoError(t, err)
	g := gen.NewGenerator(gen.Config{OutPath: filepath.Join(t.TempDir(), "query")})
	g.WithImportPkgPath("github.com/snowlease/snowlease/publicid")
	g.UseDB(open(t, dsn))
	g.GenerateModel("orders", gen.FieldType("id", "publicid.ID[Order]"),
		gen.FieldGORMTag("id", func(tag field.GormTag) field.GormTag { return tag.Set("autoIncrement", "false") }))
	g.Execute()
	code, err := os.ReadFile(filepath.Join(g.OutPath, "../model/orders.gen.go"))
	require.NoError(t, err)
	require.Regexp(t, "ID +publicid\\.ID\\[Order\\] +`gorm:\"column:id;primaryKey;autoIncrement:false\"", string(code))
}
