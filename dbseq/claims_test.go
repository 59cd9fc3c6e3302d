package dbseq_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rights that docs/engines.md names are enough for an account that may do no more,
// once an administrator has made the tables.
func TestAccountWithTheRightsOfTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/engines.md")
	require.NoError(t, err)
	for _, e := range engines {
		if e.name == "sqlite" {
			continue // it has no accounts
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			_, block, found := strings.Cut(string(text), "<!-- docstest: "+e.name+" -->\n```sql\n")
			require.True(t, found)
			block, _, _ = strings.Cut(block, "```")
			grants := regexp.MustCompile(`(?m)^GRANT .*;$`).FindAllString(block, -1)
			require.GreaterOrEqual(t, len(grants), 2)

			dsn := e.dsn(t)
			admin := e.db(t, dsn)
			acquire(t, center(t, admin), request("orders", 4))
			require.NoError(t, segments(t, admin).Create(t.Context(), "orders", 7))
			name := admin.Migrator().CurrentDatabase()
			user, limited := name+"_r", ""
			if e.name == "mysql" {
				user = name[:10] + "_r" // at most 32 characters
				rawExec(t, admin, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 'pw'")
				t.Cleanup(func() { admin.Exec("DROP USER '" + user + "'@'%'") })
				limited = user + ":pw@" + dsn[strings.LastIndex(dsn, "@")+1:]
			} else {
				rawExec(t, admin, "CREATE ROLE "+user+" LOGIN PASSWORD 'pw'")
				t.Cleanup(func() { admin.Exec("DROP OWNED BY " + user); admin.Exec("DROP ROLE " + user) })
				limited = dsn + " user=" + user + " password=pw"
			}
			for _, grant := range grants {
				grant = strings.NewReplacer(" shop.", " "+name+".", "'orders'", "'"+user+"'", " orders;", " "+user+";").Replace(grant)
				rawExec(t, admin, strings.TrimSuffix(grant, ";"))
			}

			db := e.db(t, limited)
			c := center(t, db)
			require.NoError(t, c.Init(t.Context(), request("others", 1)))
			g := acquire(t, c, request("others", 1))
			g, err := c.Renew(t.Context(), g)
			require.NoError(t, err)
			_, err = c.Slots(t.Context(), "others")
			require.NoError(t, err)
			require.NoError(t, c.Release(t.Context(), g, g.Floor))
			acquire(t, c, request("others", 1)) // which takes the ticket of its predecessor away
			got, err := segments(t, db).Reserve(t.Context(), reserve(1))
			require.NoError(t, err)
			require.EqualValues(t, 7, got.First)
		})
	}
}
