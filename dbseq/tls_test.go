//go:build prove

package dbseq_test

import (
	"crypto/tls"
	"crypto/x509"
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
	onMySQL := func(name string, start func(testing.TB, ...string) *testserver.Server) func(*testing.T) (string, func(string) string) {
		return func(t *testing.T) (string, func(string) string) {
			s := start(t, "--ssl-cert="+cert, "--ssl-key="+key)
			return s.DSN(), func(authority string) string {
				text, err := os.ReadFile(authority)
				require.NoError(t, err)
				roots := x509.NewCertPool()
				require.True(t, roots.AppendCertsFromPEM(text))
				name := name + authority
				require.NoError(t, mysql.RegisterTLSConfig(name, &tls.Config{RootCAs: roots}))
				cfg, err := mysql.ParseDSN(s.DSN())
				require.NoError(t, err)
				cfg.TLSConfig = name
				return cfg.FormatDSN()
			}
		}
	}
	for name, server := range map[string]func(*testing.T) (plain string, verified func(authority string) string){
		"mysql":   onMySQL("mysql", testserver.NewMySQL),
		"mariadb": onMySQL("mariadb", testserver.NewMariaDB),
		"postgres": func(t *testing.T) (string, func(string) string) {
			s := testserver.NewPostgres(t, "-c", "ssl=on", "-c", "ssl_cert_file="+cert, "-c", "ssl_key_file="+key)
			return s.DSN(), func(authority string) string { return s.DSN() + " sslmode=verify-full sslrootcert=" + authority }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, verified := server(t)
			open := func(dsn string) *dbseq.Center {
				c, err := dbseq.Open(map[string]string{"mysql": "mysql", "mariadb": "mysql", "postgres": "pgx"}[name], dsn)
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
			c := open(verified(cert))
			first(t, c, request("orders", 2))
			require.Regexp(t, `^(TLS_)?[A-Z0-9_-]{8,}$`, encryption(c).Seen)
			c = open(plain)
			acquire(t, c, request("orders", 2))
			require.Equal(t, "none, within this host", encryption(c).Seen)
			_, err := open(verified(other)).Acquire(t.Context(), request("orders", 2))
			require.ErrorContains(t, err, "certificate")
		})
	}
}
