package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func TestCommands(t *testing.T) {
	t.Parallel()
	url := testserver.NewEtcd(t, 1).Nodes[0].DSN()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	require.NoError(t, err)
	defer client.Close()
	c, err := etcdseq.New(client)
	require.NoError(t, err)
	req := keeper.NewRequest("orders", snowflake.Layout{}.WithDefaults())
	req.Owner, req.Holder = lease.NewOwner(), "app@host:1"
	require.NoError(t, c.Extras().Init(t.Context(), req))
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)

	do := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"-namespace", "orders"}, args...), func(name string) string {
			return map[string]string{"ETCDCTL_ENDPOINTS": url}[name]
		}, &out)
		return out.String(), err
	}
	out, err := do("show")
	require.NoError(t, err)
	require.Contains(t, out, `"app@host:1"`)
	require.NotContains(t, out, "quarantine")
	out, err = do("quarantine", "restored from a backup")
	require.NoError(t, err)
	require.Contains(t, out, ": restored from a backup\n")
	_, err = do("mend")
	require.NoError(t, err)
	_, err = do("release", fmt.Sprint(g.Worker), fmt.Sprint(g.Token+1))
	require.ErrorIs(t, err, lease.ErrLost)
	out, err = do("release", fmt.Sprint(g.Worker), fmt.Sprint(g.Token))
	require.NoError(t, err)
	require.NotContains(t, out, "app@host")
	out, err = do("retire", "moved to orders-2")
	require.NoError(t, err)
	require.Contains(t, out, "retired: moved to orders-2")
	for _, wrong := range [][]string{{}, {"quarantine"}, {"drop", "all"}, {"release", "1", "x"}, {"show", "-namespace", ""}} {
		_, err := do(wrong...)
		require.Error(t, err, "%v", wrong)
	}
	_, err = do("-timeout", time.Nanosecond.String(), "show")
	require.Error(t, err)
}

// The center goes by the clock of this host, so mend compares that with the clock of a member.
func TestMendComparesClocks(t *testing.T) {
	t.Parallel()
	url := testserver.NewEtcd(t, 1).Nodes[0].DSN()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	require.NoError(t, err)
	defer client.Close()
	c, err := etcdseq.New(client)
	require.NoError(t, err)
	req := keeper.NewRequest("orders", snowflake.Layout{}.WithDefaults())
	req.Owner = lease.NewOwner()
	require.NoError(t, c.Extras().Init(t.Context(), req))
	var ahead time.Duration
	member := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
	}))
	defer member.Close()
	mend := func() error {
		return run(t.Context(), []string{"-namespace", "orders", "mend"}, func(name string) string {
			// The first answers for the clock, the second for the keys.
			return map[string]string{"ETCDCTL_ENDPOINTS": member.URL + "," + url}[name]
		}, io.Discard)
	}
	require.NoError(t, mend())
	ahead = time.Hour
	require.ErrorAs(t, mend(), new(*lease.ClockError))
	member.Close()
	require.NoError(t, mend(), "the clock of the next member counts")
}
