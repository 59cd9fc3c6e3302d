package dbseq_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

// An account is a user of a database server, whose right password is "right" and who may do nothing
// yet but log in.
type account struct {
	t          *testing.T
	e          engine
	db         *gorm.DB // of an administrator
	dsn        string   // of the administrator
	user       string
	name       string // as SQL writes it
	database   string
	everything string // the right to do everything
}

// onAccounts runs f for each engine that has accounts and speaks one of these, each time with a new one.
func onAccounts(t *testing.T, speak string, f func(t *testing.T, a *account)) {
	onThose(t, speak, func(t *testing.T, e engine, dsn string) { f(t, newAccount(t, e, dsn)) })
}

func newAccount(t *testing.T, e engine, dsn string) *account {
	db := e.db(t, dsn)
	database := db.Migrator().CurrentDatabase()
	a := &account{t: t, e: e, db: db, dsn: dsn, database: database}
	a.user = "app_" + database[len(database)-12:] // at most 32 characters on MySQL
	if e.speaks == "mysql" {
		a.name = "'" + a.user + "'@'%'"
		a.everything = "GRANT ALL ON " + database + ".* TO " + a.name
		a.admin("CREATE USER " + a.name + " IDENTIFIED BY 'right'")
	} else {
		a.name = a.user
		a.everything = "ALTER ROLE " + a.name + " SUPERUSER"
		a.admin("CREATE ROLE " + a.name + " LOGIN PASSWORD 'right'")
		a.admin("REVOKE CREATE ON SCHEMA public FROM PUBLIC") // as PostgreSQL has done itself since 15
	}
	t.Cleanup(func() {
		if e.speaks == "postgres" {
			db.Exec("DROP OWNED BY " + a.name)
		}
		db.Exec("DROP USER " + a.name)
	})
	return a
}

// admin runs a statement of the administrator.
func (a *account) admin(query string) {
	a.t.Helper()
	rawExec(a.t, a.db, query)
}

// as returns the DSN of the database for another user, and of another database unless name
// is empty.
func (a *account) as(user, password, name string) string {
	if name == "" {
		name = a.database
	}
	if a.e.speaks == "postgres" {
		return a.dsn + " user=" + user + " password=" + password + " dbname=" + name
	}
	head, _, _ := strings.Cut(a.dsn[strings.LastIndex(a.dsn, "@"):], "/")
	return user + ":" + password + head + "/" + name
}

// right is the DSN of the account.
func (a *account) right() string { return a.as(a.user, "right", "") }

func (a *account) open(dsn string) *dbseq.Center {
	a.t.Helper()
	c, err := dbseq.Open(a.e.driver, dsn)
	require.NoError(a.t, err)
	a.t.Cleanup(func() { require.NoError(a.t, c.Close()) })
	return c
}

// password changes the password and ends all connections of the account.
func (a *account) password(now string) {
	a.t.Helper()
	if a.e.speaks == "postgres" {
		a.admin("ALTER ROLE " + a.name + " PASSWORD '" + now + "'")
		a.admin("DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + a.user + "'; END $$")
		return
	}
	a.admin("ALTER USER " + a.name + " IDENTIFIED BY '" + now + "'")
	var connections []string
	require.NoError(a.t, a.db.Raw("SELECT id FROM information_schema.processlist WHERE user = ?", a.user).Scan(&connections).Error)
	for _, id := range connections {
		a.db.Exec("KILL " + id) // it may have ended
	}
}

// TestStartFailsAtOnce: a login that is refused, and a database that is not there, end a
// start at once. The error says what to do.
func TestStartFailsAtOnce(t *testing.T) {
	onAccounts(t, "mysql postgres", func(t *testing.T, a *account) {
		a.admin(a.everything)
		for _, c := range []struct{ dsn, want string }{
			{a.as(a.user, "geheim", ""), "check the user and the password in the DSN"},
			{a.as("nobody", "geheim", ""), "check the user and the password in the DSN"},
			{a.as("snowlease", "snowlease", "missing"), "create the database, or correct its name in the DSN"},
		} {
			// A start that tries again would do so for an hour.
			_, err := snowlease.Open(t.Context(), a.open(c.dsn), snowlease.Config{Namespace: "orders", Wait: time.Hour})
			errs := []error{err}
			for _, strict := range []bool{false, true} {
				_, err = numbers.OpenSegment(t.Context(), a.open(c.dsn).Numbers(), numbers.SegmentConfig{Namespace: "shop", Name: "orders", Strict: strict})
				errs = append(errs, err)
			}
			for _, err := range errs {
				require.ErrorIs(t, err, lease.ErrSetup)
				require.ErrorContains(t, err, c.want)
				require.NotContains(t, err.Error(), "geheim")
			}
		}
	})
}

// TestAccountOfASocket: MariaDB has another error for an account that has no password.
func TestAccountOfASocket(t *testing.T) {
	t.Parallel()
	a := newAccount(t, engines[1], engines[1].dsn(t))
	a.admin("ALTER USER " + a.name + " IDENTIFIED VIA unix_socket")
	_, err := a.open(a.as(a.user, "", "")).Acquire(t.Context(), request("orders", 4))
	require.ErrorContains(t, err, "1698")
	require.ErrorIs(t, err, lease.ErrSetup)
}

// TestFolderOfSQLite: a file that cannot be opened ends a start at once.
func TestFolderOfSQLite(t *testing.T) {
	t.Parallel()
	c, err := dbseq.Open("sqlite", filepath.Join(t.TempDir(), "data", "app.db"))
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Acquire(t.Context(), request("orders", 4))
	require.ErrorContains(t, err, "check that the folder of the file exists and can be written to")
	require.ErrorIs(t, err, lease.ErrSetup)
}

// TestPasswordWrongForAWhile: only a start ends by it. A keeper that holds a worker id
// renews it once the password is right again.
func TestPasswordWrongForAWhile(t *testing.T) {
	onAccounts(t, "mysql postgres", func(t *testing.T, a *account) {
		a.admin(a.everything)
		w, err := snowlease.New(a.open(a.right()), snowlease.Config{Namespace: "orders", TTL: 3 * time.Second, Skew: time.Second})
		require.NoError(t, err)
		require.NoError(t, w.Start(t.Context()))
		until := func(what string, is func(snowlease.Status) bool) {
			require.Eventually(t, func() bool { return is(w.Status()) }, time.Minute, 10*time.Millisecond, what)
		}
		a.password("other")
		until("refused", func(s snowlease.Status) bool { return strings.Contains(s.Error, "check the user and the password") })
		a.password("right")
		until("renewed", func(s snowlease.Status) bool { return s.Error == "" && s.State == snowlease.StateReady })
		require.NoError(t, w.Close())
	})
}
