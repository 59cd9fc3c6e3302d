package etcdseq_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

func TestModule(t *testing.T) {
	t.Parallel()
	url := testserver.NewEtcd(t, 1).Nodes[0].DSN()
	var worker *idworker.IdWorker
	app := fxtest.New(t,
		fx.Supply(idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{Skew: 200 * time.Millisecond}}, etcdseq.Config{Endpoints: []string{url}}),
		etcdseq.Client, etcdseq.Module, idworker.Module, fx.Populate(&worker), fx.NopLogger,
	)
	app.RequireStart()
	_, err := worker.NextID()
	require.NoError(t, err)
	require.Contains(t, worker.Status().Center, "etcd at 127.0.0.1:")
	app.RequireStop()
	slots, err := open(t, url).Extras().Lister.Slots(context.Background(), "orders")
	require.NoError(t, err)
	for _, s := range slots {
		require.Empty(t, s.Holder, "given back")
	}
}

// An application that has another store too must not take that if the client of etcd is
// missing: others would borrow the same worker ids from etcd.
func TestModuleWithoutAClient(t *testing.T) {
	t.Parallel()
	other := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	for _, given := range []fx.Option{fx.Options(), etcdseq.Client} {
		app := fx.New(fx.Supply(idworker.Config{Namespace: "orders"}), fx.Provide(func() redis.UniversalClient { return other }),
			given, etcdseq.Module, idworker.Module, fx.Invoke(func(*idworker.IdWorker) {}), fx.NopLogger)
		require.ErrorContains(t, app.Err(), "*clientv3.Client is missing: add etcdseq.Client and a Config")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	err := etcdseq.Config{
		Endpoints: []string{"https://etcd-0:2379", "http://app:hunter2@etcd-1:2379", "etcd-2", "unix://x:1", "etcd-3:2379/x"},
		Username:  "app", CertFile: "client.pem",
	}.Validate()
	for _, want := range []string{
		"endpoints[1] is not host:port", "endpoints[2] is not host:port", "endpoints[3] is not host:port", "endpoints[4] is not host:port",
		"1 with https:// and 4 without", "cert_file and key_file belong together", "username and password belong together",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, err.Error(), "endpoints[0]")
	require.ErrorContains(t, etcdseq.Config{Endpoints: []string{"a:1"}, CAFile: "ca.pem"}.Validate(), "need endpoints with https://")
	require.ErrorContains(t, etcdseq.Config{Endpoints: []string{"a:1"}, Username: "app", Password: "x\ny\n"}.Validate(), "username or password has the control character U+000A at byte 1")
	require.NoError(t, etcdseq.Config{Endpoints: []string{"a:1", "[::1]:2379", "http://b:2"}, Username: "app", Password: "x\n"}.Validate())

	_, err = etcdseq.Open(t.Context(), etcdseq.Config{Endpoints: []string{"https://a:1"}, CAFile: "/nowhere/ca.pem"})
	require.ErrorContains(t, err, "/nowhere/ca.pem")
	client, err := etcdseq.Open(t.Context(), etcdseq.Config{Endpoints: []string{"https://a:1"}})
	require.NoError(t, err)
	require.NoError(t, client.Close())
	for endpoint, secure := range map[string]bool{"https://a:1": true, "http://a:1": false, "https-gateway:1": false} {
		cfg, err := etcdseq.Config{Endpoints: []string{endpoint}}.Client()
		require.NoError(t, err)
		require.Equal(t, secure, cfg.TLS != nil, endpoint)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := silent.Accept()
		cancel()
		if err == nil {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	_, err = etcdseq.Open(ctx, etcdseq.Config{Endpoints: []string{silent.Addr().String()}, Username: "app", Password: "app"})
	require.ErrorIs(t, err, context.Canceled)
}

// The client verifies the member by the authorities of the file, and shows its certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	var known atomic.Int64
	member := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		known.Add(int64(len(r.TLS.PeerCertificates)))
	}))
	member.EnableHTTP2 = true
	member.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	member.Config.ErrorLog = log.New(io.Discard, "", 0)
	member.StartTLS()
	defer member.Close()
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	key, err := x509.MarshalPKCS8PrivateKey(member.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	cert := file("cert.pem", "CERTIFICATE", member.Certificate().Raw)
	for _, cfg := range []etcdseq.Config{{}, {CAFile: cert}, {CAFile: cert, CertFile: cert, KeyFile: file("key.pem", "PRIVATE KEY", key)}} {
		cfg.Endpoints = []string{member.URL}
		client, err := etcdseq.Open(t.Context(), cfg)
		require.NoError(t, err)
		_, err = on(t, client).Acquire(t.Context(), request())
		require.Error(t, err)
		require.Equal(t, cfg.CAFile == "", strings.Contains(err.Error(), "certificate signed by unknown authority"), "%v", err)
		require.Equal(t, cfg.CertFile != "", known.Load() > 0)
		require.NoError(t, client.Close())
	}
	_, err = etcdseq.Open(t.Context(), etcdseq.Config{Endpoints: []string{member.URL}, CAFile: cert, CertFile: cert, KeyFile: "-----BEGIN PRIVATE KEY-----\nMC4C\n"})
	require.ErrorContains(t, err, "as if it were the file itself")
	require.NotContains(t, err.Error(), "PRIVATE KEY")
}

func TestNew(t *testing.T) {
	t.Parallel()
	_, err := etcdseq.New(nil)
	require.ErrorContains(t, err, "the client is nil")
	for _, prefix := range []string{"snowlease", "snow\nlease/"} {
		_, err = etcdseq.New(dial(t, "127.0.0.1:1"), nil, etcdseq.WithPrefix(prefix))
		require.ErrorContains(t, err, fmt.Sprintf("prefix %q is not some characters", prefix))
	}
	_, err = etcdseq.New(clientv3.NewCtxClient(t.Context())) // as of a server in the same process
	require.ErrorContains(t, err, "the client has no connection of its own")
}

// A center is named by its endpoints, and a login in one shows in no error.
func TestNames(t *testing.T) {
	t.Parallel()
	const login = "app:hunter2Geheim"
	for endpoint, name := range map[string]string{
		"http://" + login + "@127.0.0.1:1,127.0.0.1:2": "etcd at 127.0.0.1:1,127.0.0.1:2",
		"etcd://" + login + "/x@127.0.0.1:1":           "etcd at 127.0.0.1:1",
		login + "@127.0.0.1:1,127.0.0.1:2":             "etcd at 127.0.0.1:2",
		login:                                          "etcd",
	} {
		center := open(t, strings.Split(endpoint, ",")...)
		require.Equal(t, name, lease.Name(center), endpoint)
		prefixed, err := etcdseq.New(dial(t, strings.Split(endpoint, ",")...), etcdseq.WithPrefix("shop/"))
		require.NoError(t, err)
		require.Equal(t, name+", keys shop/*", lease.Name(prefixed))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = center.Acquire(ctx, request())
		cancel()
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// A closed client ends calls at once, also those that have begun. By itself it repeats them
// for seconds.
func TestClosedClient(t *testing.T) {
	t.Parallel()
	for name, closes := range map[string]func(*clientv3.Client){
		"before the call": func(client *clientv3.Client) { require.NoError(t, client.Close()) },
		"during the call": func(client *clientv3.Client) { time.AfterFunc(50*time.Millisecond, func() { _ = client.Close() }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close() // it answers nothing
			client, calls := counted(t, listener.Addr().String())
			c := on(t, client)
			closes(client)
			_, err = c.Acquire(t.Context(), request())
			require.ErrorContains(t, err, "the client of etcd is closed")
			require.ErrorIs(t, err, lease.ErrSetup)
			require.Less(t, calls.Load(), int64(10), "by itself, the client tries 100 times")
		})
	}
}

// A lack of rights is an error that ends a start at once.
func TestSetup(t *testing.T) {
	t.Parallel()
	e, _ := begun(t)
	for _, args := range [][]string{
		{"user", "add", "root:root"},
		{"user", "grant-role", "root", "root"},
		{"role", "add", "none"},
		{"user", "add", "app:app"},
		{"user", "grant-role", "app", "none"},
		{"auth", "enable"},
	} {
		e.Ctl(e.Nodes[0], args...)
	}
	_, err := etcdseq.Open(t.Context(), etcdseq.Config{Endpoints: e.URLs(), Username: "app", Password: "wrong"})
	require.ErrorContains(t, err, "check that it runs, and username and password")
	client, err := etcdseq.Open(t.Context(), etcdseq.Config{Endpoints: e.URLs(), Username: "app", Password: "app"})
	require.NoError(t, err)
	defer client.Close()
	_, err = on(t, client).Acquire(t.Context(), request())
	require.ErrorIs(t, err, lease.ErrSetup)
	require.ErrorContains(t, err, "permission denied")

	// A role on the keys of one namespace is enough, and gives no other.
	e.Ctl(e.Nodes[0], "--user=root:root", "del", "--prefix", "snowlease/")
	e.Ctl(e.Nodes[0], "--user=root:root", "role", "grant-permission", "none", "readwrite", "--prefix=true", "snowlease/crew/")
	allowed := on(t, client)
	require.NoError(t, allowed.Extras().Init(t.Context(), request()))
	g, err := allowed.Acquire(t.Context(), request())
	require.NoError(t, err)
	g, err = allowed.Renew(t.Context(), g)
	require.NoError(t, err)
	_, err = allowed.Extras().Lister.Slots(t.Context(), "crew")
	require.NoError(t, err)
	require.NoError(t, allowed.Release(t.Context(), g, g.Now))
	_, err = allowed.Extras().Operator.Quarantine(t.Context(), "crew", "by hand")
	require.NoError(t, err)
	other := request()
	other.Namespace = "billing"
	_, err = allowed.Acquire(t.Context(), other)
	require.ErrorContains(t, err, "permission denied")
}
