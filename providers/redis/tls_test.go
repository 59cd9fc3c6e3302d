package redis

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strconv"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// A server with a certificate of its own authority is verified, and verifies the client.
func TestTLS(t *testing.T) {
	t.Parallel()
	serverCert, serverKey := testserver.Certificate(t)
	clientCert, clientKey := testserver.Certificate(t)
	for name, start := range map[string]func(t *testing.T) (addr string){
		"miniredis": func(t *testing.T) string {
			own, err := tls.LoadX509KeyPair(serverCert, serverKey)
			require.NoError(t, err)
			text, err := os.ReadFile(clientCert)
			require.NoError(t, err)
			clients := x509.NewCertPool()
			require.True(t, clients.AppendCertsFromPEM(text))
			srv, err := miniredis.RunTLS(&tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients})
			require.NoError(t, err)
			t.Cleanup(srv.Close)
			return srv.Addr()
		},
		"redis": func(t *testing.T) string {
			port := strconv.Itoa(testserver.Port(t))
			testserver.NewRedis(t, "--tls-port", port, "--tls-cert-file", serverCert, "--tls-key-file", serverKey, "--tls-ca-cert-file", clientCert)
			return "127.0.0.1:" + port
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := Config{Addrs: []string{start(t)}, TLS: true, CAFile: serverCert, CertFile: clientCert, KeyFile: clientKey}
			client, err := Open(t.Context(), good)
			require.NoError(t, err)
			require.NoError(t, client.Close())

			for want, change := range map[string]func(*Config){
				"certificate":                       func(c *Config) { c.CAFile = "" },                  // signed by unknown authority
				"cannot connect":                    func(c *Config) { c.CertFile, c.KeyFile = "", "" }, // the server hangs up
				"need tls":                          func(c *Config) { c.TLS = false },
				"belong together":                   func(c *Config) { c.KeyFile = "" },
				"has no certificate":                func(c *Config) { c.CAFile = clientKey },
				"as if it were the file itself":     func(c *Config) { c.KeyFile = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n" },
				"redis.ca_file: open":               func(c *Config) { c.CAFile += ".none" },
				"redis.cert_file and key_file: tls": func(c *Config) { c.CertFile = serverCert },
			} {
				c := good
				change(&c)
				_, err := Open(t.Context(), c)
				require.ErrorContains(t, err, want)
				require.NotContains(t, err.Error(), "PRIVATE KEY")
			}
		})
	}
}
