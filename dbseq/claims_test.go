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
	"github.com/snowlease/snowlease/internal/sqlnumbers"
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
		require.NoError(t, segments(t, a.db).Create(t.Context(), "shop/orders", 7))
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
	driver, dsn := place(db)
	c, err := dbseq.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer c.Close()
	return everyStatementOf(t, admin, c)
}

func everyStatementOf(t *testing.T, admin *gorm.DB, c *dbseq.Center) error {
	t.Helper()
	ctx, n := t.Context(), c.Numbers().(*sqlnumbers.Store)
	for _, table := range []string{"slot", "ticket", "meta", "segment"} {
		rawExec(t, admin, "DELETE FROM snowlease_"+table)
	}
	if err := c.Extras().Init(ctx, soon(request("others", 1))); err != nil {
		return err
	}
	req := soon(request("others", 1))
	req.Holder = ""
	g, err := c.Acquire(ctx, req)
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
	_, err2 := c.Extras().Operator.Quarantine(ctx, "others", "")
	err = errors.Join(err, err2, c.Extras().Operator.Revoke(ctx, "others", g.Worker, g.Token), c.Extras().Operator.Retire(ctx, "others", "by hand"))
	if err != nil {
		return err
	}
	if err := n.Create(ctx, "shop/orders", 7); err != nil {
		return err
	}
	_, err = n.Reserve(ctx, reserve(1))
	return err
}

// TestSQLModes: every statement works in every sql_mode, which the application sets for its pool.
func TestSQLModes(t *testing.T) {
	onThose(t, "mysql", func(t *testing.T, e engine, dsn string) {
		admin := e.db(t, dsn)
		for _, mode := range []string{
			"",
			"ANSI,HIGH_NOT_PRECEDENCE,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO,NO_UNSIGNED_SUBTRACTION,NO_DIR_IN_CREATE,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY,PAD_CHAR_TO_FULL_LENGTH,ALLOW_INVALID_DATES",
			"TRADITIONAL", "PIPES_AS_CONCAT",
			"TIME_TRUNCATE_FRACTIONAL",                    // MySQL alone has it
			"MSSQL,DB2,MAXDB,POSTGRESQL,MYSQL323,MYSQL40", // MariaDB alone has these
			"SIMULTANEOUS_ASSIGNMENT", "EMPTY_STRING_IS_NULL", "ORACLE,EMPTY_STRING_IS_NULL,STRICT_ALL_TABLES,TIME_ROUND_FRACTIONAL",
		} {
			if admin.Exec("SET sql_mode = ?", mode).Error != nil {
				continue
			}
			rawExec(t, admin, "SET sql_mode = DEFAULT")
			in := dsn + "&sql_mode='" + mode + "'"
			db, pool := e.db(t, in), e.pool(t, in)
			rawExec(t, admin, "DROP TABLE IF EXISTS snowlease_slot, snowlease_ticket, snowlease_meta, snowlease_segment")
			first(t, center(t, db), request("orders", 4))
			require.NoError(t, segments(t, db).Create(t.Context(), "shop/orders", 7))
			require.NoError(t, everyStatement(t, admin, db), "%q, with parameters in the text", mode)
			c, err := dbseq.New(pool, dbseq.MySQL, dbseq.WithDurable(true))
			require.NoError(t, err)
			require.NoError(t, everyStatementOf(t, admin, c), "%q, prepared", mode)
			found, err := c.Extras().Examine(t.Context(), "others")
			require.NoError(t, err)
			require.NotContains(t, fmt.Sprint(found), "rror ", "%q", mode)
		}
	})
}
