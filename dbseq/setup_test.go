package dbseq_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// An account is a user of a database server, whose right password is "right".
type account struct {
	t         *testing.T
	e         engine
	admin     func(query string)
	dsn, user string
	name      string // as SQL writes it
}

func newAccount(t *testing.T, e engine, dsn string) *account {
	db := e.db(t, dsn)
	name := db.Migrator().CurrentDatabase()
	a := &account{t: t, e: e, dsn: dsn, admin: func(query string) { t.Helper(); rawExec(t, db, query) }}
	a.user = "app_" + name[len(name)-12:]
	a.name = a.user
	if e.speaks == "mysql" {
		a.name = "'" + a.user + "'@'%'"
		a.admin("CREATE USER " + a.name + " IDENTIFIED BY 'right'")
		a.admin("GRANT ALL ON " + name + ".* TO " + a.name)
	} else {
		a.admin("CREATE ROLE " + a.user + " LOGIN SUPERUSER PASSWORD 'right'")
	}
	t.Cleanup(func() {
		if e.speaks == "postgres" {
			db.Exec("DROP OWNED BY " + a.name)
		}
		db.Exec("DROP USER " + a.name)
	})
	return a
}

// as returns the DSN of the database for another user, and of another database unless name
// is empty.
func (a *account) as(user, password, name string) string {
	if a.e.speaks == "postgres" {
		dsn := a.dsn + " user=" + user + " password=" + password
		if name != "" {
			dsn += " dbname=" + name
		}
		return dsn
	}
	head, tail, _ := strings.Cut(a.dsn[strings.LastIndex(a.dsn, "@"):], "/")
	if name == "" {
		name, _, _ = strings.Cut(tail, "?")
	}
	return user + ":" + password + head + "/" + name
}

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
	db := a.e.db(a.t, a.dsn)
	var connections []string
	require.NoError(a.t, db.Raw("SELECT id FROM information_schema.processlist WHERE user = ?", a.user).Scan(&connections).Error)
	for _, id := range connections {
		db.Exec("KILL " + id) // it may have ended
	}
}

// onAccounts runs f for each engine with accounts.
func onAccounts(t *testing.T, f func(t *testing.T, a *account)) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks != "sqlite" {
			f(t, newAccount(t, e, dsn))
		}
	})
}

// TestStartFailsAtOnce: a login that is refused, and a database that is not there, end a
// start at once. The error says what to do.
func TestStartFailsAtOnce(t *testing.T) {
	onAccounts(t, func(t *testing.T, a *account) {
		for _, c := range []struct{ dsn, want string }{
			{a.as(a.user, "geheim", ""), "check the user and the password in the DSN"},
			{a.as("nobody", "geheim", ""), "check the user and the password in the DSN"},
			{a.as("snowlease", "snowlease", "missing"), "create the database, or correct its name in the DSN"},
		} {
			// A start that tries again would do so for an hour.
			_, err := snowlease.Open(t.Context(), a.open(c.dsn), snowlease.Config{Namespace: "orders", Wait: time.Hour})
			require.ErrorIs(t, err, lease.ErrSetup)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "geheim")
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
	onAccounts(t, func(t *testing.T, a *account) {
		c := a.open(a.as(a.user, "right", ""))
		g, err := generator.New(snowflake.Layout{})
		require.NoError(t, err)
		req := keeper.NewRequest("orders", g.Layout())
		req.TTL, req.Skew, req.Owner = 3*time.Second, time.Second, lease.NewOwner()
		require.NoError(t, c.Extras().Init(t.Context(), req))
		k, err := keeper.New(keeper.Config{Center: c, Generator: g, Request: req})
		require.NoError(t, err)
		require.NoError(t, k.Start(t.Context()))
		until := func(what string, is func(keeper.Status) bool) {
			require.Eventually(t, func() bool { return is(k.Status()) }, time.Minute, 10*time.Millisecond, what)
		}
		a.password("other")
		until("refused", func(s keeper.Status) bool {
			return strings.Contains(errorText(s.Err), "check the user and the password")
		})
		a.password("right")
		until("renewed", func(s keeper.Status) bool { return s.Err == nil && s.State == keeper.Holding })
		require.NoError(t, k.Stop(t.Context()))
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
