package etcdseq_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/edit"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

// dial returns a client of these members.
func dial(t testing.TB, urls ...string) *clientv3.Client {
	t.Helper()
	return intercepted(t, nil, urls...)
}

// intercepted returns a client whose calls pass through f.
func intercepted(t testing.TB, f grpc.UnaryClientInterceptor, urls ...string) *clientv3.Client {
	t.Helper()
	cfg := clientv3.Config{Endpoints: urls, DialTimeout: 2 * time.Second, Logger: zap.NewNop(), DialKeepAliveTime: time.Second, DialKeepAliveTimeout: time.Second}
	if f != nil {
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithChainUnaryInterceptor(f))
	}
	client, err := clientv3.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() }) // a test may have closed it
	return client
}

// counted returns a client that counts the calls that it sends.
func counted(t testing.TB, url string) (client *clientv3.Client, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	client = intercepted(t, func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		calls.Add(1)
		return invoke(ctx, method, req, reply, conn, opts...)
	}, url)
	return client, calls
}

// on returns a center on a client.
func on(t testing.TB, client *clientv3.Client) lease.Center {
	t.Helper()
	c, err := etcdseq.New(client)
	require.NoError(t, err)
	return c
}

// open returns a center on a client of its own.
func open(t testing.TB, urls ...string) lease.Center {
	t.Helper()
	return on(t, dial(t, urls...))
}

// begun returns a center of an etcd of one member, on the namespace of the crew.
func begun(t testing.TB) (*testserver.Etcd, lease.Center) {
	t.Helper()
	e := testserver.NewEtcd(t, 1)
	c := open(t, e.URLs()...)
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	return e, c
}

// A fixture is a namespace prefix of an etcd with the faults of leasetest.
type fixture struct {
	client *clientv3.Client
	prefix string
	runs   atomic.Int64
}

var fixtures atomic.Int64

func newFixture(t testing.TB, client *clientv3.Client) *fixture {
	return &fixture{client: client, prefix: "test-" + strconv.FormatInt(fixtures.Add(1), 10) + "/"}
}

func (f *fixture) Center(t testing.TB) lease.Center {
	t.Helper()
	c, err := etcdseq.New(f.client, etcdseq.WithPrefix(f.prefix))
	require.NoError(t, err)
	return c
}

func (*fixture) Sleep(d time.Duration) { time.Sleep(d) }

func (f *fixture) Wipe(t testing.TB) { f.put(t, f.prefix, nil) }

func (f *fixture) Drop(t testing.TB, namespace string, what leasetest.Records) {
	t.Helper()
	base := f.prefix + namespace + "/"
	values := f.get(t, base)
	cluster, there := values["cluster"]
	delete(values, "cluster")
	leasetest.DropPart(t, values, what)
	if there {
		values["cluster"] = cluster
	}
	f.put(t, base, values)
}

func (f *fixture) Edit(t testing.TB, namespace string, worker int64, field, value string) bool {
	t.Helper()
	base := f.prefix + namespace + "/"
	values := f.get(t, base)
	edit.Part(t, values, worker, field, value)
	f.put(t, base, values)
	return true
}

func (f *fixture) Delete(t testing.TB, namespace string, worker int64) {
	t.Helper()
	_, err := f.client.Delete(t.Context(), f.prefix+namespace+"/"+edit.Name(worker))
	require.NoError(t, err)
}

func (f *fixture) Snapshot(t testing.TB) (restore func()) {
	kept := f.get(t, f.prefix)
	return func() { f.put(t, f.prefix, kept) }
}

// Reincarnate makes all records say that they were written in another cluster.
func (f *fixture) Reincarnate(t testing.TB) {
	t.Helper()
	own := f.id(t)
	other := strconv.FormatInt(1_000_000+f.runs.Add(1), 10)
	values := f.get(t, f.prefix)
	for key, value := range values {
		if strings.HasSuffix(key, "/meta") {
			values[key] = strings.ReplaceAll(value, `"incarnation":"`+own, `"incarnation":"`+other)
		}
	}
	f.put(t, f.prefix, values)
}

func (f *fixture) id(t testing.TB) string {
	t.Helper()
	id, err := f.Center(t).Extras().Operator.Incarnation(t.Context(), "nobody")
	require.NoError(t, err)
	return id
}

func (*fixture) Traits() leasetest.Traits {
	return leasetest.Traits{LeastRecentlyUsed: true, Incarnation: true, RenewsAlone: true}
}

// get returns the values below a key.
func (f *fixture) get(t testing.TB, base string) map[string]string {
	t.Helper()
	resp, err := f.client.Get(t.Context(), base, clientv3.WithPrefix())
	require.NoError(t, err)
	values := map[string]string{}
	for _, kv := range resp.Kvs {
		values[strings.TrimPrefix(string(kv.Key), base)] = string(kv.Value)
	}
	return values
}

// put replaces the values below a key.
func (f *fixture) put(t testing.TB, base string, values map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for name := range f.get(t, base) {
		if _, kept := values[name]; !kept {
			_, err := f.client.Delete(ctx, base+name)
			require.NoError(t, err)
		}
	}
	for name, value := range values {
		_, err := f.client.Put(ctx, base+name, value)
		require.NoError(t, err)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]int{"one member": 1, "three members": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dial(t, testserver.NewEtcd(t, members).URLs()...)
			leasetest.Run(t, func(t testing.TB) leasetest.Store { return newFixture(t, client) })
			leasetest.RunOperator(t, func(t testing.TB) leasetest.Store { return newFixture(t, client) })
		})
	}
}

// TestRollbacks: the key of the cluster is checked as the parts are.
func TestRollbacks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, dial(t, testserver.NewEtcd(t, 1).URLs()...))
	c := f.Center(t)
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	g, err := c.Acquire(t.Context(), request())
	require.NoError(t, err)
	base := f.prefix + g.Namespace + "/"
	for _, value := range []string{"x", `{"id":"0","term":1,"rollbacks":9223372036854775807}`, `{"id":"0","term":1,"rollbacks":-1}`} {
		values := f.get(t, base)
		was := values["cluster"]
		values["cluster"] = value
		f.put(t, base, values)
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrDamaged)
		require.ErrorIs(t, err, lease.ErrSetup)
		require.ErrorContains(t, err, "cluster is not the JSON of a record")
		values["cluster"] = was
		f.put(t, base, values)
		g, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
	}
}

// TestManyParts: more parts than a transaction can write are written some at a time.
func TestManyParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, dial(t, testserver.NewEtcd(t, 1).URLs()...))
	c := f.Center(t)
	req := request()
	req.Pool, req.Last = 200, 199
	require.NoError(t, c.Extras().Init(t.Context(), req))
	base := f.prefix + req.Namespace + "/"
	// In a form that no process writes. Their loss begins a quarantine.
	for at, value := range []string{`{"token":1,"expires":1,"mark":1}`, `{"token":1}`} {
		values := f.get(t, base)
		for i := range 190 {
			values[strconv.Itoa(i)] = value
		}
		f.put(t, base, values)
		for range 10 {
			req.Owner = lease.NewOwner()
			g, err := c.Acquire(t.Context(), req)
			if at == 0 {
				require.NoError(t, err)
				require.NoError(t, c.Release(t.Context(), g, g.Floor))
			} else {
				require.ErrorAs(t, err, new(*lease.QuarantineError))
			}
		}
	}
}

// TestPrefixBelowANamespace: a prefix may begin with that of another center and one of its namespaces.
func TestPrefixBelowANamespace(t *testing.T) {
	t.Parallel()
	e, c := begun(t)
	below, err := etcdseq.New(dial(t, e.URLs()...), etcdseq.WithPrefix(etcdseq.DefaultPrefix+request().Namespace+"/"))
	require.NoError(t, err)
	require.NoError(t, below.Extras().Init(t.Context(), request()))
	_, err = c.Acquire(t.Context(), request())
	require.NoError(t, err)
}
