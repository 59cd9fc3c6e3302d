package sqldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/providers/secret"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// TestDriverOfADSN: a DSN has one driver, although its password may look like the form of another.
func TestDriverOfADSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"user:word@tcp(db:3306)/shop":                        "mysql",
		"user:word@/shop":                                    "mysql",
		"app:host=1@tcp(127.0.0.1:3306)/shop":                "mysql",
		"postgres://app:word@db/shop":                        "postgres",
		"postgres://app:word@/shop?host=/var/run/postgresql": "postgres",
		"postgresql://app:word@/shop":                        "postgres",
		"host=db user=app password=ab@/cd dbname=shop":       "postgres",
		"dbname = shop password=a@tcp(b":                     "postgres",
		"data/app.db":                                        "sqlite",
		"file:app.db?_pragma=busy_timeout(1000)":             "sqlite",
		":memory:":                                           "sqlite",
		"redis://db:6379":                                    "",
	} {
		for range 20 {
			require.Equal(t, want, sqldb.Config{DSN: secret.String(dsn)}.WithDefaults().Driver, dsn)
		}
	}
}
