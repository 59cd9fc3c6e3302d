//go:build prove

package testserver

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { Main(m) }

// openSQL returns a pool that is closed before its database is dropped.
func openSQL(t *testing.T, name, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(name, dsn)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); !errors.Is(err, driver.ErrBadConn) { // which the server has closed
			require.NoError(t, err)
		}
	})
	return db
}

func openRedis(t *testing.T, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

var sqlEngines = []struct {
	name, driver string
	server       func(testing.TB, ...string) *Server
}{
	{"MariaDB", "mysql", NewMariaDB},
	{"MySQL", "mysql", NewMySQL},
	{"PostgreSQL", "pgx", NewPostgres},
}

func TestMissingEngine(t *testing.T) {
	absent := engine{name: "Absent", pkg: "absent-server", programs: []string{"no-such-program"}}
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		rec := &recorder{TB: t}
		done := make(chan struct{})
		go func() { // Fatal and Skip end the goroutine
			defer close(done)
			need(rec, &absent, "SOME_VARIABLE")
		}()
		<-done
		require.Equal(t, ci == "true", rec.failed)
		require.Equal(t, ci != "true", rec.skipped)
		for _, part := range []string{"no-such-program", "make prove", "absent-server", "SOME_VARIABLE"} {
			require.Contains(t, rec.line, part)
		}
	}
	state.Lock()
	defer state.Unlock()
	require.Contains(t, state.leftOut, "Absent")
	delete(state.leftOut, "Absent")
}

// recorder notes how a test would have ended.
type recorder struct {
	testing.TB
	failed, skipped bool
	line            string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) {
	r.failed, r.line = true, fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.skipped, r.line = true, fmt.Sprint(args...)
	runtime.Goexit()
}
