package etcdseq

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/lease"
)

// DefaultPrefix is the default prefix of the keys.
const DefaultPrefix = "snowlease/"

// An Option configures a center in New. A nil Option is ignored.
type Option interface{ set }

type set = option.Option[store]

// WithPrefix sets the prefix of the keys, such as "team/snowlease/". All members of a namespace
// need the same prefix. It must end with a slash. Default: DefaultPrefix.
func WithPrefix(prefix string) Option {
	return option.Func[store](func(s *store) error {
		if len(prefix) < 2 || !strings.HasSuffix(prefix, "/") || dsn.Plain(prefix) != nil {
			return fmt.Errorf("etcdseq: prefix %q is not some characters, none of them a control character, and a slash", prefix)
		}
		s.prefix = prefix
		return nil
	})
}

// New returns a center on the client. It does no I/O, and the center never closes the client. The
// center's lease.Extras have a Lister, an Operator and Init. The center uses the client's
// connection, not its KV, so a prefix of package namespace has no effect: see WithPrefix.
//
// Errors: errors of the options, or a client that is nil or has no connection.
func New(client *clientv3.Client, opts ...Option) (lease.Center, error) {
	if client == nil {
		return nil, errors.New("etcdseq: the client is nil")
	}
	if client.ActiveConnection() == nil {
		return nil, errors.New("etcdseq: the client has no connection of its own: create it with clientv3.New")
	}
	s := newStore(client)
	if err := option.All[store](opts)(s); err != nil {
		return nil, err
	}
	return engine.NewSplit(s), nil
}

func newStore(client *clientv3.Client) *store {
	return &store{
		// This KV bypasses the client's retries of reads, which would be 40 a second, and its call
		// options, with which a call waits for a connection and does not report why. gRPC's limit of 4
		// MiB then bounds the size of an answer.
		kv:     clientv3.NewKVFromKVClient(etcdserverpb.NewKVClient(client.ActiveConnection()), nil),
		client: client,
		prefix: DefaultPrefix,
		seen:   map[string]observed{},
	}
}
