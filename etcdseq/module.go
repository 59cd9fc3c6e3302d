package etcdseq

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/lease"
)

// Module provides a lease.Center on the *clientv3.Client of the graph, so that
// idworker.Module borrows its worker id from etcd:
//
//	fx.New(fx.Supply(cfg), etcdseq.Client, etcdseq.Module, idworker.Module, ...)
//
// Without a client in the graph, the center fails. To set options, provide the result of New
// instead.
var Module = fx.Module("etcdseq", fx.Provide(newCenter))

// Client provides a *clientv3.Client from a Config. Leave it out if the application has a client.
// When the application stops, it closes the client after releasing the worker id.
var Client = fx.Module("etcdseq.client", fx.Provide(newClient))

type centerParams struct {
	fx.In

	Client *clientv3.Client `optional:"true"` // if it were required, package idworker would see no center and take another store
}

func newCenter(p centerParams) (lease.Center, error) {
	if p.Client == nil {
		return nil, errors.New("etcdseq: *clientv3.Client is missing: add etcdseq.Client and a Config, or provide your client and what it needs")
	}
	return New(p.Client)
}

func newClient(cfg Config, life fx.Lifecycle) (*clientv3.Client, error) {
	client, err := Open(context.Background(), cfg)
	if err == nil {
		life.Append(fx.StopHook(client.Close))
	}
	return client, err
}
