package dbseq_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
)

// TestBackupStepsLeaveTheTables: the commands of docs/operations.md restore the tables of the
// application, and none of dbseq's, whatever their prefix is.
func TestBackupStepsLeaveTheTables(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	steps := regexp.MustCompile("```sh\n((?:[^`].*\n)*pg_restore (?:[^`].*\n)*)```").FindStringSubmatch(string(page))
	require.NotNil(t, steps)
	schema, err := filepath.Glob("schema/*.sql")
	require.NoError(t, err)
	for _, file := range schema {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`CREATE TABLE snowlease_(\w+)`).FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, steps[1], "--ignore-table=shop.${PREFIX}"+m[1]+" ")
		}
	}
	for _, e := range engines {
		if e.speaks != "postgres" {
			continue
		}
		for _, prefix := range []string{"snowlease_", "orders_"} {
			t.Run(e.name+" "+prefix, func(t *testing.T) {
				t.Parallel()
				dsn := e.dsn(t)
				db := e.db(t, dsn)
				c := center(t, db, dbseq.WithTablePrefix(prefix))
				first(t, c, soon(request("orders", 4)))
				numbers := segments(t, db, dbseq.WithTablePrefix(prefix))
				require.NoError(t, numbers.Create(t.Context(), "bills", 7))
				rawExec(t, db, "CREATE TABLE "+prefix+"slots (id BIGINT PRIMARY KEY)") // of the application
				rawExec(t, db, "INSERT INTO "+prefix+"slots VALUES (1)")
				dir := t.TempDir()
				shell := func(script string) {
					t.Helper()
					cmd := exec.CommandContext(t.Context(), "sh", "-e")
					cmd.Dir, cmd.Env = dir, append(os.Environ(), "DSN="+dsn)
					cmd.Stdin = strings.NewReader(script)
					out, err := cmd.CombinedOutput()
					if err != nil && strings.Contains(string(out), "server version mismatch") {
						t.Skip("pg_dump is older than the server")
					}
					require.NoError(t, err, string(out))
				}
				for _, program := range []string{"sh", "pg_dump", "pg_restore"} {
					if _, err := exec.LookPath(program); err != nil {
						t.Skip(err)
					}
				}
				shell(`pg_dump -Fc -d "$DSN" -f shop.dump`)
				rawExec(t, db, "DELETE FROM "+prefix+"slots")
				acquire(t, c, soon(request("orders", 4)))
				require.NoError(t, numbers.Create(t.Context(), "members", 7))
				rows := func(table string) (all []map[string]any) {
					require.NoError(t, db.Raw("SELECT * FROM "+prefix+table+" ORDER BY 1, 2").Scan(&all).Error)
					return all
				}
				before := map[string][]map[string]any{}
				for _, table := range []string{"slot", "ticket", "meta", "segment"} {
					before[table] = rows(table)
				}
				ticket := "SELECT last_value FROM " + prefix + "ticket_id_seq"
				last := number(t, db, ticket)
				script := regexp.MustCompile(`(?m)^mysqldump .*\n`).ReplaceAllString(steps[1], "")
				shell(strings.NewReplacer("PREFIX=snowlease_", "PREFIX="+prefix, "-d shop ", `-d "$DSN" `).Replace(script))
				for table, want := range before {
					require.Equal(t, want, rows(table), table)
				}
				require.Equal(t, last, number(t, db, ticket))
				require.Equal(t, int64(1), number(t, db, "SELECT COUNT(*) FROM "+prefix+"slots"))
			})
		}
	}
}
