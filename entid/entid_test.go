package entid_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	_ "github.com/go-sql-driver/mysql" // driver of the shop
	_ "github.com/jackc/pgx/v5/stdlib" // driver of the shop
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver of the shop

	"github.com/snowlease/snowlease/internal/test/limit"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// Ent generates code for a copy of the module in testdata/shop, whose tests run on each
// database.
func TestShop(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "shop.test")
	require.True(t, t.Run("generate", func(t *testing.T) { generate(t, dir, program) }))
	for name, database := range map[string]struct {
		driver string
		dsn    func(t *testing.T) string
	}{
		"sqlite": {"sqlite", func(t *testing.T) string {
			return "file:" + filepath.Join(t.TempDir(), "shop.db") + "?_pragma=foreign_keys(1)"
		}},
		"mysql":    {"mysql", func(t *testing.T) string { return testserver.MySQL(t) }},
		"mariadb":  {"mysql", func(t *testing.T) string { return testserver.MariaDB(t) }},
		"postgres": {"pgx", func(t *testing.T) string { return testserver.Postgres(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(limit.Context(t), program, "-test.v")
			cmd.Env = append(os.Environ(), "ORDER_ID_SECRET=a secret of the tests, 32 bytes.", "SHOP_DRIVER="+database.driver, "SHOP_DSN="+database.dsn(t))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.NotContains(t, string(out), "--- SKIP")
		})
	}
}

// generate makes the module shop in dir, and a program of its tests.
func generate(t *testing.T, dir, program string) {
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	sum, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	const module = "github.com/snowlease/snowlease"
	text := strings.Replace(string(mod), "module "+module+"/entid", "module shop", 1) +
		"require " + module + "/entid v0.1.0\n" +
		"replace " + module + "/entid => " + here + "\n" +
		"replace " + module + " => " + filepath.Dir(here) + "\n"
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/shop")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	require.NoError(t, entc.Generate("./ent/schema", &gen.Config{Target: "ent", Package: "shop/ent", Features: []gen.Feature{gen.FeatureUpsert}}))
	out, err := exec.CommandContext(limit.Compiling(t), "go", "test", "-c", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
