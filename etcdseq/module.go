package etcdseq

import (
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/lease"
)

// Module provides a lease.Center on the *clientv3.Client of the graph, so that
// idworker.Module borrows its worker id from etcd:
//
//	fx.New(fx.Provide(newClient), etcdseq.Module, idworker.Module, ...)
//
// To set options, provide the result of New instead.
var Module = fx.Module("etcdseq", fx.Provide(func(client *clientv3.Client) (lease.Center, error) { return New(client) }))
