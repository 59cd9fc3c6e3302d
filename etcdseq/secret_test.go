package etcdseq_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/lease"
)

// A login in an endpoint does not show in names and errors.
func TestEndpointShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2Geheim"
	for _, endpoint := range []string{
		"http://app:" + secret + "@127.0.0.1:1", "http://app:" + secret + "%zz@127.0.0.1:1", "app:" + secret + "@127.0.0.1:1", "etcd://app:" + secret + "/x@127.0.0.1:1", "app:" + secret,
	} {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
		if err != nil {
			continue
		}
		c, err := etcdseq.New(client)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = c.Acquire(ctx, request())
		cancel()
		require.Error(t, err)
		require.NotContains(t, fmt.Sprint(err, lease.Name(c), c.Extras().Warnings), secret)
		require.NoError(t, client.Close())
	}
}
