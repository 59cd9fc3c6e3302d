package etcdseq

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/internal/engine"
)

// NewStore returns the store of a center.
func NewStore(client *clientv3.Client) engine.SplitStore { return newStore(client) }

// Client returns the configuration of a client for c.
func (c Config) Client() (clientv3.Config, error) { return c.client() }
