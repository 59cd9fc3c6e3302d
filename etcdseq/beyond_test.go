package etcdseq_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestRollbacks: the key of the cluster is checked as the parts are.
func TestRollbacks(t *testing.T) {
	t.Parallel()
	client := dial(t, testserver.NewEtcd(t, 1).URLs()...)
	f := newFixture(t, client)
	c := f.Center(t)
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	g, err := c.Acquire(t.Context(), request())
	require.NoError(t, err)
	key := f.prefix + g.Namespace + "/cluster"
	was := f.get(t, key)[""]
	for _, n := range []string{"9223372036854775807", "-1", "1073741825"} {
		_, err := client.Put(t.Context(), key, fmt.Sprintf(`{"id":%q,"term":1,"rollbacks":%s}`, f.id(t), n))
		require.NoError(t, err)
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrDamaged)
		require.ErrorContains(t, err, "counts "+n+" rollbacks")
		_, err = client.Put(t.Context(), key, was)
		require.NoError(t, err)
		g, err = c.Renew(t.Context(), g)
		require.NoError(t, err, n)
	}
}

// TestManyParts: more parts than a transaction can write are written some at a time.
func TestManyParts(t *testing.T) {
	t.Parallel()
	client := dial(t, testserver.NewEtcd(t, 1).URLs()...)
	f := newFixture(t, client)
	c := f.Center(t)
	req := request()
	req.Pool, req.Last = 200, 199
	require.NoError(t, c.Extras().Init(t.Context(), req))
	// In a form that no process writes. Their loss begins a quarantine.
	for at, value := range []string{`{"token":1,"expires":1,"mark":1}`, `{"token":1}`} {
		for i := range 190 {
			_, err := client.Put(t.Context(), fmt.Sprintf("%s%s/%d", f.prefix, req.Namespace, i), value)
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
