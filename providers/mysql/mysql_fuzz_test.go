package mysql

import (
	"context"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// FuzzDSN checks that errors and addresses never show a password, even of a malformed DSN.
func FuzzDSN(f *testing.F) {
	const secret = "hunter2Geheim"
	for _, s := range [][3]string{
		{"app:", "", "@tcp(127.0.0.1:3306)/app?parseTime=false"},
		{"app:a@b", "/c?d", "@tcp(h:1)/app"},
		{"app:", "", "tcp(h:1)/app"},
		{"app:", "", "@h:1/app"},
		{"", "", "@unix(/s)/a?timeout=2s"},
		{"app:tcp(", ")/", "@tcp(h)/a"},
		{"", "", ""},
		{"u:", "", "@tcp(h:1)/a?tls=x"},
		{"u:", "", "@tcp(h:1)/a?loc=No/Where"},
		{"app@tcp(h:1)/a&password=", "", ""},
		{"app@tcp(h:1)/a;password=", "", "?timeout=2s"},
		{"app@tcp(h;password=", "", ":1)/a"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // nothing is dialled
	f.Fuzz(func(t *testing.T, before, after, rest string) {
		if !strings.Contains(before, ":") || strings.Contains(rest, secret) {
			return // the secret is not a password here
		}
		dsn := before + secret + after + rest
		target, err := open(ended, dsn, 3*time.Second)
		if err != nil {
			require.NotContains(t, err.Error(), secret)
			return
		}
		c, err := driver.ParseDSN(dsn)
		require.NoError(t, err)
		if strings.Contains(c.Passwd, secret) || strings.HasSuffix(before, "password=") {
			require.NotContains(t, target.Address, secret)
		}
		require.ErrorIs(t, target.Err, context.Canceled)
		require.NotContains(t, target.Err.Error(), secret)
	})
}
