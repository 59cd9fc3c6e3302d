package etcdseq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestKeysOfAStranger: keys beyond the pool, and long ones, cost a process neither memory nor
// time.
//
// It runs alone, since it counts what the process allocates.
func TestKeysOfAStranger(t *testing.T) {
	server := testserver.NewEtcd(t, 1)
	client, err := etcdseq.Open(t.Context(), etcdseq.Config{Endpoints: []string{strings.TrimPrefix(server.URLs()[0], "http://")}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	f := newFixture(t, client)
	c := f.Center(t)
	refused := func(namespace, text string, is ...error) {
		t.Helper()
		req := lease.Request{Namespace: namespace, Layout: "41/5/0/17", Holder: "test", Owner: lease.NewOwner(), Pool: 32, Last: 31, TTL: 30_000_000_000, MaxTTL: 30_000_000_000}
		for name, call := range map[string]func(context.Context) error{
			"Acquire": func(ctx context.Context) error { _, err := c.Acquire(ctx, req); return err },
			"Slots":   func(ctx context.Context) error { _, err := c.Extras().Lister.Slots(ctx, namespace); return err },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := call(t.Context())
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, text, name)
			for _, target := range is {
				require.ErrorIs(t, err, target, name)
			}
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), name)
		}
	}

	// The number of a worker id far beyond the pool.
	_, err = client.Put(t.Context(), f.prefix+"far/1048575", `{"expires":1,"mark":1}`)
	require.NoError(t, err)
	refused("far", `there is a record "1048575"`, lease.ErrDamaged)

	_, err = client.Put(t.Context(), f.prefix+"stuffed/cluster", "{"+strings.Repeat(" ", 1024)+"}")
	require.NoError(t, err)
	refused("stuffed", f.prefix+"stuffed/cluster has 1026 bytes", lease.ErrDamaged)

	var ops []clientv3.Op
	for i := range casstore.MaxPool + 3 {
		ops = append(ops, clientv3.OpPut(fmt.Sprintf("%smany/x%d", f.prefix, i), "x"))
	}
	for len(ops) > 0 {
		n := min(len(ops), 100)
		_, err := client.Txn(t.Context()).Then(ops[:n]...).Commit()
		require.NoError(t, err)
		ops = ops[n:]
	}
	refused("many", "there are 4099 keys below", lease.ErrDamaged)

	for i := range 32 {
		_, err := client.Put(t.Context(), fmt.Sprintf("%slong/%d", f.prefix, i), strings.Repeat("x", 1<<20))
		require.NoError(t, err)
	}
	refused("long", "received message larger than max")
}

// TestRollbacksOfAStranger: a number of rollbacks that nobody can have counted is refused, and
// forgotten when the key is deleted.
func TestRollbacksOfAStranger(t *testing.T) {
	t.Parallel()
	client := dial(t, testserver.NewEtcd(t, 1).URLs()...)
	f := newFixture(t, client)
	c := f.Center(t)
	req := lease.Request{Namespace: "orders", Layout: "41/5/0/17", Holder: "test", Owner: lease.NewOwner(), Pool: 32, Last: 31, TTL: 30_000_000_000, MaxTTL: 30_000_000_000}
	require.NoError(t, c.Extras().Init(t.Context(), req))
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	key := f.prefix + "orders/cluster"
	was := f.get(t, key)[""]
	put := func(term, rollbacks string) {
		_, err := client.Put(t.Context(), key, fmt.Sprintf(`{"id":%q,"term":%s,"rollbacks":%s}`, f.id(t), term, rollbacks))
		require.NoError(t, err)
	}
	terms := []string{"1", "18446744073709551615"} // the greatest: as if the cluster had fallen back
	for _, n := range []string{"9223372036854775807", "9223372036854775806", "-1", "1073741825", "1073741824"} {
		for _, term := range terms {
			put(term, n)
			_, err = c.Renew(t.Context(), g)
			require.ErrorIs(t, err, lease.ErrDamaged)
			require.ErrorContains(t, err, "counts "+n+" rollbacks")
			_, err = client.Put(t.Context(), key, was)
			require.NoError(t, err)
			g, err = c.Renew(t.Context(), g)
			require.NoError(t, err, n)
		}
	}

	// What could have been counted may begin a quarantine, and is no obstacle once it is restored
	// or deleted.
	for _, n := range []string{"1073741823", "1073741822", "1073741821"} {
		for _, term := range terms {
			put(term, n)
			_, err = c.Renew(t.Context(), g)
			require.Equal(t, n == "1073741823" && term == terms[1], errors.Is(err, lease.ErrDamaged), "only one more could not be read: %v", err)
			for name, repair := range map[string]func() error{
				"restored": func() error { _, err := client.Put(t.Context(), key, was); return err },
				"deleted":  func() error { _, err := client.Delete(t.Context(), key); return err },
			} {
				require.NoError(t, repair())
				for range 3 {
					_, err = c.Renew(t.Context(), g)
				}
				if err != nil {
					require.ErrorAs(t, err, new(*lease.QuarantineError), "%s, %s of term %s", name, n, term)
				}
				_, err = f.Center(t).Extras().Operator.Record(t.Context(), "orders")
				require.NoError(t, err, "another process")
			}
		}
	}
}

// TestPartsOfAStranger: keys that another program put below a namespace are named, or rewritten by
// whoever lends them.
func TestPartsOfAStranger(t *testing.T) {
	t.Parallel()
	client := dial(t, testserver.NewEtcd(t, 1).URLs()...)
	f := newFixture(t, client)
	c := f.Center(t)
	req := lease.Request{Namespace: "orders", Layout: "41/5/0/17", Holder: "test", Owner: lease.NewOwner(), Pool: 200, Last: 199, TTL: 30_000_000_000, MaxTTL: 30_000_000_000}
	require.NoError(t, c.Extras().Init(t.Context(), req))
	refused := func(key, value, text string) {
		t.Helper()
		_, err := client.Put(t.Context(), f.prefix+"orders/"+key, value)
		require.NoError(t, err)
		req.Owner = lease.NewOwner()
		_, err = c.Acquire(t.Context(), req)
		require.ErrorIs(t, err, lease.ErrDamaged)
		require.ErrorContains(t, err, text)
		_, err = client.Delete(t.Context(), f.prefix+"orders/"+key)
		require.NoError(t, err)
	}
	refused("200", `{"expires":1,"mark":1,"token":1}`, `there is a record "200" beyond the 200`)
	refused("199", `{"expires":1,"mark":1,"token":1,"holder":"`+strings.Repeat("x", 900_000)+`"}`, "199: it has 900")

	// More than a transaction can write, in a form that no process writes. Their loss begins a quarantine.
	for at, value := range []string{`{"token":1,"expires":1,"mark":1}`, `{"token":1}`} {
		for i := range 190 {
			_, err := client.Put(t.Context(), fmt.Sprintf("%sorders/%d", f.prefix, i), value)
			require.NoError(t, err)
		}
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
