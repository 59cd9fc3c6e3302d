package testserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Certificate writes a new certificate for 127.0.0.1, which is its own authority, and its
// key, for a server of this package or its clients.
func Certificate(t testing.TB) (cert, key string) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatalf("testserver: a certificate: %v", err)
		}
	}
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	check(err)
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	check(err)
	dir, err := os.MkdirTemp("", "certificate")
	check(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(os.Chmod(dir, 0o755)) // #nosec G302 -- PostgreSQL runs as another user
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	check(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o644)) // #nosec G306
	check(os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	if other, err := user.Lookup(postgres.runAs); err == nil && os.Geteuid() == 0 { // no other key is allowed
		id, err := strconv.Atoi(other.Uid)
		check(err)
		check(os.Chown(key, id, -1))
	}
	return cert, key
}
