//go:build prove

package dbseq_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
)

// backupSteps are the commands of docs/operations.md.
func backupSteps(t testing.TB) string {
	t.Helper()
	page, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	steps := regexp.MustCompile("```sh\n((?:[^`].*\n)*pg_restore (?:[^`].*\n)*)```").FindStringSubmatch(string(page))
	require.NotNil(t, steps)
	return steps[1]
}

// TestBackupStepsLeaveTheTables: the commands restore the tables of the application, and none of
// dbseq's, whatever their prefix is.
func TestBackupStepsLeaveTheTables(t *testing.T) {
	t.Parallel()
	steps := backupSteps(t)
	require.NotContains(t, steps, "${PREFIX}", "without it, no table would be left out")
	schema, err := filepath.Glob("schema/*.sql")
	require.NoError(t, err)
	for _, file := range append(schema, "../internal/sqlnumbers/schema/mysql.sql") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`CREATE TABLE snowlease_(\w+)`).FindAllStringSubmatch(string(text), -1) {
			require.Regexp(t, `(?m)^  mysql scratch -e "DROP TABLE IF EXISTS .*\$\{PREFIX:\?\}`+m[1]+`\b`, steps)
		}
	}
	for _, e := range engines {
		if e.speaks != "postgres" && e.name != "mariadb" { // MySQL comes without programs
			continue
		}
		for _, prefix := range []string{"snowlease_", "orders_"} {
			t.Run(e.name+" "+prefix, func(t *testing.T) {
				t.Parallel()
				dsn, script, name := e.dsn(t), steps, ""
				db := e.db(t, dsn)
				c := center(t, db, dbseq.WithTablePrefix(prefix))
				first(t, c, soon(request("orders", 4)))
				numbers := segments(t, db, dbseq.WithTablePrefix(prefix))
				require.NoError(t, numbers.Create(t.Context(), "shop/bills", 7))
				rawExec(t, db, "CREATE TABLE "+prefix+"slots (id BIGINT PRIMARY KEY)") // of the application
				rawExec(t, db, "INSERT INTO "+prefix+"slots VALUES (1)")

				dir := t.TempDir()
				dump, programs := `pg_dump -Fc -d "$DSN" -f shop.dump`, []string{"sh", "pg_dump", "pg_restore"}
				if e.speaks == "postgres" {
					script = strings.ReplaceAll(regexp.MustCompile(`(?ms)^! grep.*`).ReplaceAllString(script, ""), "-d shop ", `-d "$DSN" `)
				} else {
					cfg, err := mysqldriver.ParseDSN(dsn)
					require.NoError(t, err)
					host, port, err := net.SplitHostPort(cfg.Addr)
					require.NoError(t, err)
					login := "[client]\nhost=" + host + "\nport=" + port + "\nuser=" + cfg.User + "\npassword=" + cfg.Passwd + "\nprotocol=tcp\n"
					require.NoError(t, os.WriteFile(filepath.Join(dir, ".my.cnf"), []byte(login), 0o600))
					name = cfg.DBName
					scratch := name + "_scratch"
					t.Cleanup(func() { rawExec(t, db, "DROP DATABASE IF EXISTS "+scratch) })
					dump, programs = "mysqldump "+name+" > shop.sql", []string{"sh", "mysql", "mysqldump"}
					script = regexp.MustCompile(`(?m)^pg_.*\n`).ReplaceAllString(script, "")
					script = strings.NewReplacer("DATABASE scratch", "DATABASE "+scratch, "mysql scratch", "mysql "+scratch, "mysqldump scratch", "mysqldump "+scratch, "mysql shop", "mysql "+name).Replace(script)
				}
				for _, program := range programs {
					if _, err := exec.LookPath(program); err != nil {
						t.Skip(err)
					}
				}
				shell := func(script string) {
					t.Helper()
					cmd := exec.CommandContext(t.Context(), "sh", "-e")
					cmd.Dir, cmd.Env = dir, append(os.Environ(), "DSN="+dsn, "HOME="+dir)
					cmd.Stdin = strings.NewReader(script)
					out, err := cmd.CombinedOutput()
					if err != nil && strings.Contains(string(out), "server version mismatch") {
						t.Skip("pg_dump is older than the server")
					}
					require.NoError(t, err, string(out))
				}
				if e.speaks == "mysql" {
					shell("mysqldump --databases " + name + " > shop.sql\n" + script + "true")
					require.Equal(t, int64(0), number(t, db, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '"+name+"_scratch'"), "it was refused")
				}
				shell(dump)
				rawExec(t, db, "DELETE FROM "+prefix+"slots")
				acquire(t, c, soon(request("orders", 4)))
				require.NoError(t, numbers.Create(t.Context(), "shop/members", 7))
				rows := func(table string) (all []map[string]any) {
					require.NoError(t, db.Raw("SELECT * FROM "+prefix+table+" ORDER BY 1, 2").Scan(&all).Error)
					return all
				}
				before := map[string][]map[string]any{}
				for _, table := range []string{"slot", "ticket", "meta", "segment"} {
					before[table] = rows(table)
				}
				last := func() int64 { return 0 }
				if e.speaks == "postgres" {
					last = func() int64 { return number(t, db, "SELECT last_value FROM "+prefix+"ticket_id_seq") }
				}
				ticket := last()
				shell(strings.ReplaceAll(script, "PREFIX=snowlease_", "PREFIX="+prefix))
				for table, want := range before {
					require.Equal(t, want, rows(table), table)
				}
				require.Equal(t, ticket, last())
				require.Equal(t, int64(1), number(t, db, "SELECT COUNT(*) FROM "+prefix+"slots"))
			})
		}
	}
}
