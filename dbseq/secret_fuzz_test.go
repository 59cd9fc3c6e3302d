package dbseq

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
)

// chatty is a driver that parses when it connects, as github.com/lib/pq does, and shows what
// it has read in its error.
type chatty struct{}

func (chatty) Open(dsn string) (driver.Conn, error) {
	_, err := url.Parse(dsn)
	return nil, fmt.Errorf("%w; missing %q in %v: %w", err, dsn, strings.Fields(dsn), errors.New("\x1b[2J\n"+strings.Repeat("FATAL ", 1<<18)))
}

var register = sync.OnceFunc(func() { sql.Register("postgres", chatty{}) })

// secret is a password that occurs nowhere else.
const secret = "hunter2Geheim"

// forms are DSNs with a password at %s, first right ones and then such as people write by mistake.
// Nobody listens at port 1.
var forms = []struct{ driver, form string }{
	{"mysql", "app:%s@tcp(127.0.0.1:1)/app"},
	{"mysql", "app:%s@unix(/nowhere/db.sock)/app?loc=Asia%2FTokyo"},
	{"pgx", "postgres://app:%s@127.0.0.1:1/app?connect_timeout=1"},
	{"pgx", "postgresql://app:%s@127.0.0.1:1"},
	{"pgx", "postgres://app@127.0.0.1:1/app?password=%s"},
	{"pgx", "host=127.0.0.1 port=1 user=app password='%s' dbname=app"},
	{"sqlite", "file:/nowhere/app.db?_auth_pass=%s"},
	{"mysql", "app:%s(127.0.0.1:1)/app"},
	{"mysql", "app:%s/app"},
	{"mysql", "app:%s"},
	{"mysql", "mysql://app:%s@127.0.0.1:1/app"},
	{"mysql", "app@tcp(127.0.0.1:1)/app?password=%s"},
	{"mysql", "app@tcp(127.0.0.1:1)/app?tls=%s"},
	{"pgx", "postgres://app:%s/x@127.0.0.1:1/app"},
	{"pgx", "postgres://app@127.0.0.1:1/app?sslpassword=%s"},
	{"pgx", "host=127.0.0.1 port=1 user=app password=%s"},
	{"postgres", "postgres://app:%s@h/app"},
	{"postgres", "postgres://app:%s/x@h/app"},
	{"postgres", "postgres://app@h/app?password=%s"},
	{"postgres", "host=h password=%s dbname=app"},
	{"postgres", "host=h password='a %s' dbname=app"},
	{"sqlite", "postgres://app:%s@h/app"},
	{"sqlite", "app:%s@tcp(h)/app"},
	{"sqlite", "host=h password=%s"},
	// A setting that is not behind a "?" or a blank is a part of the name of the database.
	{"mysql", "app@tcp(127.0.0.1:1)/app&password=%s"},
	{"mysql", "app@tcp(127.0.0.1:1)/app;password=%s"},
	{"pgx", "postgres://app@127.0.0.1:1/app&password=%s"},
	{"pgx", "postgres://app@127.0.0.1:1/app;password=%s"},
	{"pgx", "postgres://127.0.0.1:1/app user=app password=%s"},
	{"pgx", "postgres://127.0.0.1:1/app,user=app,password=%s"},
	{"pgx", "postgres://127.0.0.1:1/app:%s"},
	{"pgx", "postgres://127.0.0.1:1,app:%s,127.0.0.1:1/app"},
	{"pgx", "host=127.0.0.1 port=1 dbname=app;password=%s"},
	{"pgx", "host=127.0.0.1 port=1 dbname=app&password=%s user=app"},
	{"pgx", "host=127.0.0.1;password=%s port=1 dbname=app"},
	{"postgres", "postgres://app@h/app&password=%s"},
	{"postgres", "host=h dbname=app;password=%s"},
	{"sqlite", "file:/nowhere/app.db&_auth_pass=%s"},
	{"sqlite", "/nowhere/app.db;key=%s"},
	{"sqlite", "/nowhere/app.db&_pragma=key('%s')"},
}

// right is how many of forms are right ones, whose names show nothing whatever the password is.
const right = 7

// FuzzShowsNoSecret: neither name nor error nor warning of a center shows the password, and neither
// status nor log of a process that borrows from it.
func FuzzShowsNoSecret(f *testing.F) {
	register()
	for _, around := range [][2]string{
		{"", ""},
		{"a ", " b"},
		{"%zz", "%zz"},
		{"a/", "?b"},
		{"1:", "#"},
		{"'", `\`},
		{"a=", "=b"},
		{"%41-", "-%41"},
		{"a@b", "c/d?e"},
		{"/", "@"},
		{"tcp(", ")/x"},
		{"\t", "\nhost="},
		{"' host=", `\`},
		{"12/", ""},
	} {
		f.Add(around[0], around[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, secret) {
			return
		}
		// With these it may be a DSN of another form, or contain another secret.
		other := strings.ContainsAny(before+after, "@(") || wordy(before, -1) || wordy(after, 0)
		for i, c := range forms {
			text := strings.Replace(c.form, "%s", before+secret+after, 1)
			if i < right {
				if center, err := Open(c.driver, text); err == nil {
					require.NotContains(t, center.String(), secret, text)
				}
			}
			if other {
				continue
			}
			shown := func() (shown string) {
				center, err := Open(c.driver, text)
				if err != nil {
					return err.Error()
				}
				defer center.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var log bytes.Buffer
				w, err := snowlease.New(center, snowlease.Config{Namespace: "orders", Wait: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				require.NoError(t, err)
				start := w.Start(ctx)
				require.Error(t, start)
				_, id := w.NextID()
				return fmt.Sprint(center, center.Extras().Name, center.Extras().Warnings, start, fmt.Sprintf("%+v", w.Status()), id, &log)
			}()
			require.NotContains(t, shown, secret, c)
			require.NotContains(t, shown, "\x1b", c)
			require.Less(t, len(shown), 20_000, c)
		}
	})
}

// wordy reports whether the first or last byte of s continues a word.
func wordy(s string, at int) bool {
	if s == "" {
		return false
	}
	if at < 0 {
		at = len(s) - 1
	}
	b := s[at]
	return b >= 128 || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
