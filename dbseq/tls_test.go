//go:build prove

package dbseq_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestTLS: with the settings of docs/engines.md a worker id is borrowed through TLS from a
// server with a certificate of its own authority, and none from a server with another one.
// The doctor tells an encrypted connection.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := testserver.Certificate(t)
	other, _ := testserver.Certificate(t)
	onMySQL := func(dsn, authority string) string {
		text, err := os.ReadFile(authority)
		require.NoError(t, err)
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(text))
		require.NoError(t, mysql.RegisterTLSConfig(authority, &tls.Config{RootCAs: roots}))
		return dsn + "&tls=" + url.QueryEscape(authority)
	}
	onPostgres := func(dsn, authority string) string { return dsn + " sslmode=verify-full sslrootcert=" + authority }
	for name, server := range map[string]struct {
		settings []string
		verified func(dsn, authority string) string
	}{
		"mysql":    {[]string{"--ssl-cert=" + cert, "--ssl-key=" + key}, onMySQL},
		"mariadb":  {[]string{"--ssl-cert=" + cert, "--ssl-key=" + key}, onMySQL},
		"postgres": {[]string{"-c", "ssl=on", "-c", "ssl_cert_file=" + cert, "-c", "ssl_key_file=" + key}, onPostgres},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := servers[name]
			plain := e.start(t, server.settings...).DSN()
			open := func(dsn string) *dbseq.Center {
				c, err := dbseq.Open(e.driver, dsn)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, c.Close()) })
				return c
			}
			encryption := func(c *dbseq.Center) lease.Finding {
				all, err := c.Extras().Examine(t.Context(), "orders")
				require.NoError(t, err)
				i := slices.IndexFunc(all, func(f lease.Finding) bool { return f.Check == "encryption" })
				require.NotEqual(t, -1, i)
				return all[i]
			}
			c := open(server.verified(plain, cert))
			first(t, c, request("orders", 2))
			require.Regexp(t, `^(TLS_)?[A-Z0-9_-]{8,}$`, encryption(c).Seen)
			c = open(plain)
			acquire(t, c, request("orders", 2))
			require.Equal(t, "none, within this host", encryption(c).Seen)
			_, err := open(server.verified(plain, other)).Acquire(t.Context(), request("orders", 2))
			require.ErrorContains(t, err, "certificate")
		})
	}
}
