package etcdseq

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/lease"
)

// DefaultPrefix is what the keys begin with.
const DefaultPrefix = "snowlease/"

// An Option configures a center in New. A nil Option is ignored.
type Option func(*store) error

// WithPrefix sets what the keys begin with, such as "team/snowlease/". All members of a
// namespace need the same prefix. It must end with a slash. Default: DefaultPrefix.
func WithPrefix(prefix string) Option {
	return func(s *store) error {
		if len(prefix) < 2 || !strings.HasSuffix(prefix, "/") || dsn.Plain(prefix) != nil {
			return fmt.Errorf("etcdseq: prefix %q is not some characters, none of them a control character, and a slash", prefix)
		}
		s.prefix = prefix
		return nil
	}
}

// New returns a center on the client, which it does not close. It does no I/O. Its
// lease.Extras have a Lister, an Operator and Init. It uses the connection of the client, not
// its KV, so a prefix of package namespace does not apply: see WithPrefix.
//
// Errors: those of the options, or a client that is nil or has no connection.
func New(client *clientv3.Client, opts ...Option) (lease.Center, error) {
	if client == nil {
		return nil, errors.New("etcdseq: the client is nil")
	}
	if client.ActiveConnection() == nil {
		return nil, errors.New("etcdseq: the client has no connection of its own: create it with clientv3.New")
	}
	s := newStore(client)
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(s); err != nil {
			return nil, err
		}
	}
	return engine.NewSplit(s), nil
}

func newStore(client *clientv3.Client) *store {
	return &store{
		// Without the client's retries of reads, which would be 40 a second, and without its
		// options, by which a call waits for a connection and does not say why. So gRPC's 4 MiB
		// bound what an answer costs.
		kv:     clientv3.NewKVFromKVClient(etcdserverpb.NewKVClient(client.ActiveConnection()), nil),
		client: client,
		prefix: DefaultPrefix,
		seen:   map[string]observed{},
	}
}
