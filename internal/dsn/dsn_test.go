package dsn_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/dsn"
)

func TestHost(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"h:1": true, "[::1]:6379": true, ":6379": true, "/run/redis.sock": true,
		"": false, "h": false, "redis://u:pw@h:1": false, "u:pw@h:1": false, "u:pw": false, "[u:pw]:1": false, "/u:pw@h": false, "a=b:1": false,
	} {
		require.Equal(t, want, dsn.Host(addr) != "", addr)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"h:1", "shop", "h:1/shop"},
		{"h", "", "h/"},
		{"a-b.c:1,[::1]:2,d", "shop_2.x-$", "a-b.c:1,[::1]:2,d/shop_2.x-$"},
		{"/run/postgresql:5432", "shop", "/run/postgresql:5432/shop"},
		{"h:1", "shop&password=geheim", "h:1"},
		{"h:1", "shop;password=geheim", "h:1"},
		{"h:1", "shop user=app password=geheim", "h:1"},
		{"h:1", "app:geheim", "h:1"},
		{"h,password=geheim", "shop", ""},
		{"app:geheim,h:1", "shop", ""},
		{"h;geheim", "shop", ""},
		{"", "shop", ""},
	} {
		require.Equal(t, c[2], dsn.Place(c[0], c[1]), c)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	for path, shown := range map[string]bool{
		"/etc/tls/key.pem": true,
		"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----": false,
		`-----BEGIN PRIVATE KEY-----\nsecret`:                            false,
		"secret\r":                                                       false,
		strings.Repeat("secret/+", 8):                                    false,
		strings.Repeat("/directory", 30):                                 true,
	} {
		_, err := os.ReadFile(path)
		require.Error(t, err)
		err = dsn.File(fmt.Errorf("start: %w", err))
		require.Equal(t, shown, strings.Contains(err.Error(), path), path)
		require.NotContains(t, err.Error(), "secret")
	}
	require.NoError(t, dsn.File(nil))
}

func TestHide(t *testing.T) {
	t.Parallel()
	require.NoError(t, dsn.Hide(nil, "", "a"))
	server := fmt.Errorf("failed:\n\t%w\n\t%w", io.EOF, errors.New("\x1b[2J geheim "+strings.Repeat("x", 2<<20)))
	require.EqualError(t, dsn.Hide(fmt.Errorf("%w: check the server", server), "", "u:geheim@h"), "failed: EOF; ?[2J *** "+strings.Repeat("x", 500-9)+"... (2097161 bytes): check the server")
	for _, c := range []struct{ err, public, text, want string }{
		{`parse "postgres://app:geheim/x@h": invalid port ":geheim" after host`, "", "postgres://app:geheim/x@h", `parse "postgres://***@h": invalid port ":***" after host`},
		{"dial tcp 127.0.0.1:3306: connection refused", "mysql 127.0.0.1:3306/app", "u:geheim@tcp(127.0.0.1:3306)/app", "dial tcp 127.0.0.1:3306: connection refused"},
		{"no database orders for geheim@1", "postgres h:1/orders", "postgres://u:geheim%401@h:1/orders", "no database orders for ***"},
		{`unknown _txlock "immediate", geheim`, "", "app.db?_txlock=immediate&_pragma=busy_timeout(10000)&_auth_pass=geheim", `unknown _txlock "***", ***`},
		{"unrecognized token: 'geheim (1)", "", "file:a.db?_pragma=key('geheim", "unrecognized token: *** (1)"},
		{"unknown _txlock geheim", "", "file:a.db?_txlock=geheim", "unknown _txlock ***"},
		{"dial ab-cd-ef: unknown network ab-cd-ef", "", "app:pw@ab-cd-ef(127.0.0.1:1)/app", "dial ***: unknown network ***"},
		{"server pub key x1!y2!z3 at 127.0.0.1", "", "app:pw@tcp(127.0.0.1:1)/app?serverPubKey=x1!y2!z3", "server pub key *** at 127.0.0.1"},
		{"sslmode=verify-full", "", "postgres://u@h/d?sslmode=verify-full", "sslmode=verify-full"},
		{"nothing of it", "", "u:geheim@h", "nothing of it"},
	} {
		err := dsn.Hide(fmt.Errorf("%s%w", c.err, errNone), c.public, c.text)
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, errNone)
	}
}

type none struct{}

func (none) Error() string { return "" }

var errNone error = none{}

// FuzzHide: nothing that a driver shows of a DSN shows a secret that is a word of it.
func FuzzHide(f *testing.F) {
	f.Add("postgres://u:", "@h:1/app", "?&")
	f.Add("u:%zz/", "(h)/", ":@/")
	f.Add("host=a password='", "' x", " =")
	f.Fuzz(func(t *testing.T, before, after, cuts string) {
		const secret = "S3CRETWORD"
		text := before + " " + secret + " " + after
		if strings.Contains(before+after, secret) {
			return
		}
		shown := fmt.Sprintf("%s %q %v", text, text, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(cuts, r) && r < 128 && !strings.ContainsRune(secret, r) }))
		err := dsn.Hide(fmt.Errorf("%s %w", shown, io.EOF), before, text)
		require.NotContains(t, err.Error(), secret)
		require.True(t, errors.Is(err, io.EOF))
	})
}
