package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func TestOrders(t *testing.T) {
	t.Parallel()
	url := testserver.NewEtcd(t, 1).Nodes[0].DSN()
	var out bytes.Buffer
	app := orders(&out, url)
	require.NoError(t, app.Start(t.Context()))
	require.Regexp(t, `^the first id of worker 0 is [1-9]\d{16,}\n$`, out.String())
	slots := func() string {
		client, err := etcdseq.Open(t.Context(), etcdseq.Config{Endpoints: []string{url}})
		require.NoError(t, err)
		defer client.Close()
		center, err := etcdseq.New(client)
		require.NoError(t, err)
		list, err := center.Extras().Lister.Slots(t.Context(), "orders")
		require.NoError(t, err)
		return list[0].Holder
	}
	require.NotEmpty(t, slots())
	require.NoError(t, app.Stop(t.Context()))
	require.Empty(t, slots(), "given back")

	require.ErrorContains(t, orders(&out, "nowhere").Start(t.Context()), "endpoints[0] is not host:port")
}
