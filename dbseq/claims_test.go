package dbseq_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
)

// The rights that docs/engines.md lists suffice once an administrator has created the
// tables, and none is superfluous.
func TestAccountWithTheRightsOfTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/engines.md")
	require.NoError(t, err)
	for _, e := range engines {
		if e.speaks == "sqlite" {
			continue // has no accounts
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			_, block, found := strings.Cut(string(text), "<!-- docstest: "+string(e.dialect)+" -->\n```sql\n")
			require.True(t, found)
			block, _, _ = strings.Cut(block, "```")
			grants := regexp.MustCompile(`(?m)^GRANT .*;$`).FindAllString(block, -1)
			require.GreaterOrEqual(t, len(grants), 2)

			dsn := e.dsn(t)
			admin := e.db(t, dsn)
			first(t, center(t, admin), request("orders", 4))
			require.NoError(t, segments(t, admin).Create(t.Context(), "orders", 7))
			name := admin.Migrator().CurrentDatabase()
			user, limited := name+"_r", ""
			if e.speaks == "mysql" {
				user = name[10:] + "_r" // at most 32 characters
				rawExec(t, admin, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 'pw'")
				t.Cleanup(func() { admin.Exec("DROP USER '" + user + "'@'%'") })
				limited = user + ":pw@" + dsn[strings.LastIndex(dsn, "@")+1:]
			} else {
				rawExec(t, admin, "CREATE ROLE "+user+" LOGIN PASSWORD 'pw'")
				t.Cleanup(func() { admin.Exec("DROP OWNED BY " + user); admin.Exec("DROP ROLE " + user) })
				limited = dsn + " user=" + user + " password=pw"
			}
			place := strings.NewReplacer(" shop.", " "+name+".", "'orders'", "'"+user+"'", " orders;", " "+user+";")
			for _, grant := range grants {
				rawExec(t, admin, strings.TrimSuffix(place.Replace(grant), ";"))
			}
			db := e.db(t, limited)
			require.NoError(t, everyStatement(t, admin, db))
			require.Error(t, db.Exec("DELETE FROM snowlease_slot WHERE 1 = 0").Error)
			require.Error(t, db.Exec("DELETE FROM snowlease_meta WHERE 1 = 0").Error)
			require.Error(t, db.Exec("UPDATE snowlease_ticket SET ns = ns WHERE 1 = 0").Error)

			// Each of them is needed.
			for _, grant := range grants {
				m := regexp.MustCompile(`^GRANT (.*) ON (.*) TO (.*);$`).FindStringSubmatch(regexp.MustCompile(` +`).ReplaceAllString(place.Replace(grant), " "))
				for _, verb := range strings.Split(m[1], ", ") {
					for _, table := range strings.Split(m[2], ", ") {
						what := verb + " ON " + table
						rawExec(t, admin, "REVOKE "+what+" FROM "+m[3])
						require.Error(t, everyStatement(t, admin, db), what)
						rawExec(t, admin, "GRANT "+what+" TO "+m[3])
					}
				}
			}
			require.NoError(t, everyStatement(t, admin, db))
		})
	}
}

// everyStatement runs everything that an application and an operator do on empty tables.
func everyStatement(t *testing.T, admin, db *gorm.DB) error {
	t.Helper()
	ctx := t.Context()
	for _, table := range []string{"slot", "ticket", "meta", "segment"} {
		rawExec(t, admin, "DELETE FROM snowlease_"+table)
	}
	driver, dsn := place(db)
	c, err := dbseq.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Extras().Init(ctx, soon(request("others", 1))); err != nil {
		return err
	}
	g, err := c.Acquire(ctx, soon(request("others", 1)))
	if err != nil {
		return err
	}
	if g, err = c.Renew(ctx, g); err != nil {
		return err
	}
	_, err = c.Extras().Lister.Slots(ctx, "others")
	err = errors.Join(err, c.Release(ctx, g, g.Floor))
	if n := number(t, admin, "SELECT COUNT(*) FROM snowlease_ticket"); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d tickets are left", n))
	}
	if err != nil {
		return err
	}
	if g, err = c.Acquire(ctx, soon(request("others", 1))); err != nil {
		return err
	}
	rawExec(t, admin, "UPDATE snowlease_meta SET quarantine_ms = ?", g.Now)
	g, err = c.Renew(ctx, g) // lends another range
	_, err2 := c.Extras().Operator.Quarantine(ctx, "others", "by hand")
	err = errors.Join(err, err2, c.Extras().Operator.Revoke(ctx, "others", g.Worker, g.Token), c.Extras().Operator.Retire(ctx, "others", "by hand"))
	n, err2 := dbseq.OpenSegments(driver, dsn)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	defer n.Close()
	if err := n.Create(ctx, "orders", 7); err != nil {
		return err
	}
	_, err = n.Reserve(ctx, reserve(1))
	return err
}
