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
	text, err := os.ReadFile("../docs/engines.md")
	require.NoError(t, err)
	onAccounts(t, "mysql postgres", func(t *testing.T, a *account) {
		_, block, found := strings.Cut(string(text), "<!-- docstest: "+string(a.e.dialect)+" -->\n```sql\n")
		require.True(t, found)
		block, _, _ = strings.Cut(block, "```")
		grants := regexp.MustCompile(`(?m)^GRANT .*;$`).FindAllString(block, -1)
		require.GreaterOrEqual(t, len(grants), 2)

		first(t, center(t, a.db), request("orders", 4))
		require.NoError(t, segments(t, a.db).Create(t.Context(), "orders", 7))
		place := strings.NewReplacer(" shop.", " "+a.database+".", "'orders'", "'"+a.user+"'", " orders;", " "+a.user+";")
		for _, grant := range grants {
			a.admin(strings.TrimSuffix(place.Replace(grant), ";"))
		}
		db := a.e.db(t, a.right())
		require.NoError(t, everyStatement(t, a.db, db))
		require.Error(t, db.Exec("DELETE FROM snowlease_slot WHERE 1 = 0").Error)
		require.Error(t, db.Exec("DELETE FROM snowlease_meta WHERE 1 = 0").Error)
		require.Error(t, db.Exec("UPDATE snowlease_ticket SET ns = ns WHERE 1 = 0").Error)

		// Each of them is needed.
		for _, grant := range grants {
			m := regexp.MustCompile(`^GRANT (.*) ON (.*) TO (.*);$`).FindStringSubmatch(regexp.MustCompile(` +`).ReplaceAllString(place.Replace(grant), " "))
			for _, verb := range strings.Split(m[1], ", ") {
				for _, table := range strings.Split(m[2], ", ") {
					what := verb + " ON " + table
					a.admin("REVOKE " + what + " FROM " + m[3])
					require.Error(t, everyStatement(t, a.db, db), what)
					a.admin("GRANT " + what + " TO " + m[3])
				}
			}
		}
		require.NoError(t, everyStatement(t, a.db, db))
	})
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
