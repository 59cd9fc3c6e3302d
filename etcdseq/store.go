package etcdseq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/lease"
)

// clusterKey is the key of a namespace's cluster record. It is not one of the parts.
const clusterKey = "cluster"

// store keeps the parts of namespaces in etcd.
type store struct {
	kv     clientv3.KV
	client *clientv3.Client
	prefix string

	mu   sync.Mutex
	seen map[string]observed // by namespace
}

// A cluster is the recorded state of the cluster that a namespace is in.
type cluster struct {
	ID   string `json:"id"`
	Term uint64 `json:"term"` // the raft term; it only rises
	// Rollbacks counts how often the cluster was found to be rolled back.
	Rollbacks uint32 `json:"rollbacks,omitempty"`
}

func (c cluster) incarnation() string {
	if c.Rollbacks == 0 {
		return c.ID
	}
	return fmt.Sprintf("%s, rolled back %d", c.ID, c.Rollbacks)
}

// observed is this process's last observation of a namespace.
type observed struct {
	text    string            // the cluster record as stored
	was, is cluster           // the recorded cluster, and the one that answered
	latest  map[string]moment // of each cluster by ID, since a cluster may come back; never changed
}

// A moment is a point in the history of a cluster: the recorded rollbacks, and the numbers that
// rise between rollbacks.
type moment struct {
	rollbacks uint32
	term      uint64
	revision  int64
}

// revisionOfARollback is the revision of a cluster that was rolled back. Every real revision is
// below it, so the rollback stays visible until it is recorded, even if others write in between.
const revisionOfARollback = math.MaxInt64

// before reports whether a cluster that was seen at b and is now at a was rolled back.
func (a moment) before(b moment) bool {
	return a.rollbacks < b.rollbacks || a.rollbacks == b.rollbacks && (a.term < b.term || a.revision < b.revision)
}

// String names the endpoints, and the keys if their prefix is not the default.
func (s *store) String() string {
	var hosts []string
	for _, endpoint := range s.client.Endpoints() {
		if _, addr, ok := strings.Cut(endpoint, "://"); ok {
			endpoint = addr[strings.LastIndexByte(addr, '@')+1:]
		}
		if host := dsn.Host(strings.TrimSuffix(endpoint, "/")); host != "" {
			hosts = append(hosts, host)
		}
	}
	name := "etcd"
	if len(hosts) > 0 {
		name += " at " + strings.Join(hosts, ",")
	}
	if s.prefix != DefaultPrefix {
		name += ", keys " + s.prefix + "*"
	}
	return name
}

// Load implements engine.SplitStore with one linearizable read.
func (s *store) Load(ctx context.Context, namespace string) (parts map[string]string, incarnation string, err error) {
	parts, incarnation, err = s.load(ctx, namespace, false)
	if errors.Is(err, errDoubt) {
		// A member that has just caught up from a snapshot reports an old term until it applies the
		// next entry of the log. Deleting a key that does not exist creates one.
		call, done := s.attempt(ctx)
		_, err = s.kv.Delete(call, s.prefix+namespace+"/nothing")
		if done(); err == nil {
			parts, incarnation, err = s.load(ctx, namespace, true)
		}
	}
	return parts, incarnation, s.failure(err)
}

// errDoubt is returned by load unless it is sure: only the term indicates that the cluster was rolled
// back, and the term may not be the latest.
var errDoubt = errors.New("the term may not be the latest")

func (s *store) load(ctx context.Context, namespace string, sure bool) (parts map[string]string, incarnation string, err error) {
	s.mu.Lock()
	before := s.seen[namespace] // read first, since answers may overtake one another
	s.mu.Unlock()
	base := s.prefix + namespace + "/"
	ctx, done := s.attempt(ctx)
	defer done()
	resp, err := s.kv.Get(ctx, base, clientv3.WithPrefix())
	if err != nil {
		return nil, "", err
	}
	now := observed{}
	parts = map[string]string{}
	for _, kv := range resp.Kvs {
		if name := strings.TrimPrefix(string(kv.Key), base); name != clusterKey {
			if !strings.Contains(name, "/") { // otherwise it has another, longer prefix
				parts[name] = string(kv.Value)
			}
			continue
		}
		now.text = string(kv.Value)
		if err := json.Unmarshal(kv.Value, &now.was); err != nil {
			return nil, "", fmt.Errorf("%w: the key %s is not the JSON of a record", lease.ErrDamaged, kv.Key)
		}
	}
	now.is = cluster{ID: id(resp.Header), Term: resp.Header.RaftTerm, Rollbacks: now.was.Rollbacks}
	at := moment{now.was.Rollbacks, resp.Header.RaftTerm, resp.Header.Revision}
	then := before.latest[now.is.ID]
	fallen := now.was.ID == now.is.ID && now.is.Term < now.was.Term || at.before(then)
	if anyTerm := (moment{at.rollbacks, then.term, at.revision}); fallen && !sure && !anyTerm.before(then) {
		return nil, "", errDoubt
	}
	if fallen {
		now.is.Rollbacks = max(now.was.Rollbacks, then.rollbacks) + 1
		at.revision = revisionOfARollback
	}
	s.see(namespace, now, at)
	return parts, now.is.incarnation(), nil
}

// Swap implements engine.SplitStore with one transaction. It also compares the cluster record and
// keeps it up to date.
func (s *store) Swap(ctx context.Context, namespace string, was, is map[string]string) (incarnation string, err error) {
	s.mu.Lock()
	before := s.seen[namespace]
	s.mu.Unlock()
	base := s.prefix + namespace + "/"
	compares, puts := []clientv3.Cmp{equal(base+clusterKey, before.text)}, []clientv3.Op{}
	for name, value := range was {
		compares = append(compares, equal(base+name, value))
	}
	for name, value := range is {
		puts = append(puts, clientv3.OpPut(base+name, value))
	}
	text, _ := json.Marshal(before.is) // fails only for other types
	if string(text) != before.text {
		puts = append(puts, clientv3.OpPut(base+clusterKey, string(text)))
	}
	ctx, done := s.attempt(ctx)
	defer done()
	resp, err := s.kv.Txn(ctx).If(compares...).Then(puts...).Commit()
	if err != nil {
		return "", s.failure(err)
	}
	now := moment{before.is.Rollbacks, resp.Header.RaftTerm, resp.Header.Revision}
	then := now
	if resp.Succeeded {
		then.revision-- // before this write
	}
	// A member that lags may answer a transaction that writes nothing.
	latest := before.latest[before.is.ID]
	fallen := len(puts) > 0 && id(resp.Header) == before.is.ID && then.before(latest)
	// A member that has just caught up may answer before it sets its term.
	if anyTerm := (moment{then.rollbacks, latest.term, then.revision}); fallen && anyTerm.before(latest) {
		now.revision = revisionOfARollback
		s.see(namespace, before, now)
	}
	switch {
	case !resp.Succeeded:
		return "", engine.ErrChanged
	case fallen, id(resp.Header) != before.is.ID:
		return "another cluster", nil
	}
	s.see(namespace, observed{text: string(text), was: before.is, is: before.is}, now)
	return before.is.incarnation(), nil
}

// see keeps the observation of a cluster at a moment. The latest moment shows a rollback until
// the rollback is recorded.
func (s *store) see(namespace string, now observed, at moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := map[string]moment{}
	maps.Copy(latest, s.seen[namespace].latest)
	switch then := s.seen[namespace].latest[now.is.ID]; {
	case then.rollbacks > at.rollbacks:
		at = then
	case then.rollbacks == at.rollbacks:
		at.term, at.revision = max(at.term, then.term), max(at.revision, then.revision)
	}
	latest[now.is.ID] = at
	now.latest = latest
	s.seen[namespace] = now
}

func id(h *etcdserverpb.ResponseHeader) string { return fmt.Sprintf("%016x", h.ClusterId) }

// equal compares the value of a key. An empty value means that the key does not exist.
func equal(key, value string) clientv3.Cmp {
	if value == "" {
		return clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	}
	return clientv3.Compare(clientv3.Value(key), "=", value)
}

// attempt returns the context of one call. It also ends when the client is closed, because a
// closed client otherwise repeats calls 40 times a second.
func (s *store) attempt(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	stop := context.AfterFunc(s.client.Ctx(), cancel)
	return ctx, func() { stop(); cancel() }
}

// failure adds a remedy to an error that retries do not cure.
func (s *store) failure(err error) error {
	if err == nil {
		return nil
	}
	err = dsn.Hide(err, s.String(), s.client.Endpoints()...)
	if s.client.Ctx().Err() != nil {
		return fmt.Errorf("the client of etcd is closed: %w", lease.ErrSetup)
	}
	// Without this, the client's pauses between connection attempts grow to two minutes.
	s.client.ActiveConnection().ResetConnectBackoff()
	for _, denied := range []error{rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed} {
		if errors.Is(err, denied) {
			return fmt.Errorf("%w: grant the user of etcd a role that may read and write the keys: %w", err, lease.ErrSetup)
		}
	}
	return err
}
