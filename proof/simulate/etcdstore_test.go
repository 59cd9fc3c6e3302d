package simulate

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/txn"
	etcdlease "go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// Etcd runs the requests of etcdseq through the code by which a member of etcd applies them:
// its transactions on its store of revisions, on a file. Of the cluster only what shows is
// simulated: its id and the term of raft. It is the cluster as a quorum answers, so only a
// restore loses what was acknowledged.
//
// The center runs in the processes, by the clocks of their hosts. Each of its requests is a
// call across the network, which arrives once at most.
//
// A Restart is an election. After every second one, reads tell the former term until the
// next write, as on a member that has caught up by a snapshot. Failover restores a snapshot,
// with another cluster id or, if its revision is even, with the same. Wipe deletes the keys,
// or the data of all members if the revision is even. DropLease and DropMark delete the key
// of a worker id, and DropOwners the one with what is on record of the cluster.
type Etcd struct {
	offset
	// Handle handles a request, or changes one that next handles. Nil stands for next.
	Handle func(req proto.Message, next func(proto.Message) (proto.Message, error)) (proto.Message, error)
	// Silent says that a restore does not show, and that nobody starts a quarantine by hand.
	Silent bool

	client *clientv3.Client
	dir    string
	files  int
	disk   backend.Backend
	kv     mvcc.KV
	id     uint64 // of the cluster
	term   uint64
	behind bool // reads tell the former term
	lag    bool // after the last election they did

	restored bool // and Reincarnate follows

	slots []Slot // as last read
	stale bool   // something may have been written since
}

// NewEtcd returns an empty cluster that has had more elections than a restored one will have.
func NewEtcd() (Store, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	e := &Etcd{dir: dir, id: 1, term: 50, stale: true}
	if err := e.boot(nil); err != nil {
		return nil, err
	}
	e.client, err = clientv3.New(clientv3.Config{
		Endpoints: []string{"127.0.0.1:1"}, Logger: zap.NewNop(), // it never connects
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(e.call)},
	})
	return e, err
}

// tempDir returns a directory, on a memory file system if there is one.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp("/dev/shm", "simulate-*")
	if err != nil {
		dir, err = os.MkdirTemp("", "simulate-*")
	}
	return dir, err
}

// boot starts on the content of a file.
func (e *Etcd) boot(content []byte) error {
	if e.disk != nil {
		e.kv.Close()
		if err := e.disk.Close(); err != nil {
			return err
		}
	}
	e.stale = true
	e.files++
	path := filepath.Join(e.dir, fmt.Sprint(e.files))
	if content != nil {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	e.disk = backend.New(backend.BackendConfig{
		Path: path, MmapSize: 1 << 20, UnsafeNoFsync: true,
		BatchLimit: 10_000, BatchInterval: 10_000 * time.Hour, // nothing happens by itself
	})
	e.kv = mvcc.NewStore(nil, e.disk, &etcdlease.FakeLessor{}, mvcc.StoreConfig{})
	return nil
}

func (*Etcd) Name() string { return "etcd" }

func (*Etcd) nearby() {}

// Center returns an etcdseq center for each process.
func (e *Etcd) Center(*Host) (lease.Center, error) { return etcdseq.New(e.client) }

// Close ends the cluster and removes its files.
func (e *Etcd) Close() error {
	e.kv.Close()
	return errors.Join(e.client.Close(), e.disk.Close(), os.RemoveAll(e.dir))
}

// call answers a request in place of a connection.
func (e *Etcd) call(ctx context.Context, method string, req, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
	handle := func(ctx context.Context) (answer proto.Message, err error) {
		return answer, Step(ctx, func() error {
			answer, err = e.handle(req.(proto.Message))
			return err
		})
	}
	answer, err := proto.Message(nil), error(nil)
	if caller, ok := ctx.Value(callerKey{}).(*caller); ok {
		answer, err = caller.send(ctx, strings.ToLower(method[strings.LastIndexByte(method, '/')+1:]), handle)
	} else {
		answer, err = handle(ctx)
	}
	if err == nil {
		proto.Merge(reply.(proto.Message), answer)
	}
	return err
}

func (e *Etcd) handle(req proto.Message) (proto.Message, error) {
	if e.Handle != nil {
		return e.Handle(req, e.Apply)
	}
	return e.Apply(req)
}

// Apply carries out a request as a member does, and fills the header as it does.
func (e *Etcd) Apply(req proto.Message) (proto.Message, error) {
	ctx, log := context.Background(), zap.NewNop()
	if r, ok := req.(*pb.RangeRequest); ok {
		reply, _, err := txn.Range(ctx, log, e.kv, r, true)
		return e.filled(reply, err)
	}
	e.behind, e.stale = false, true
	switch r := req.(type) {
	case *pb.TxnRequest:
		reply, _, err := txn.Txn(ctx, log, r, true, e.kv, nil, false)
		return e.filled(reply, err)
	case *pb.DeleteRangeRequest:
		reply, _, err := txn.DeleteRange(ctx, log, e.kv, r)
		return e.filled(reply, err)
	}
	return nil, fmt.Errorf("simulate: etcdseq sends a %T: teach Etcd to handle it", req)
}

type replied interface {
	proto.Message
	GetHeader() *pb.ResponseHeader
}

func (e *Etcd) filled(reply replied, err error) (proto.Message, error) {
	if err != nil {
		return nil, err
	}
	h := reply.GetHeader()
	h.ClusterId, h.MemberId, h.RaftTerm = e.id, 1, e.term
	if e.behind {
		h.RaftTerm--
	}
	if h.Revision == 0 {
		h.Revision = e.kv.Rev()
	}
	return reply, nil
}

// Reincarnate is an election. After a restore, that of its members.
func (e *Etcd) Reincarnate() error {
	if e.restored {
		e.restored = false
		return e.byHand()
	}
	e.term++
	e.lag = !e.lag
	e.behind = e.lag
	return nil
}

func (e *Etcd) key(name string) string { return etcdseq.DefaultPrefix + namespace + "/" + name }

// records reads all keys of the namespace, by name.
func (e *Etcd) records() (map[string]string, error) {
	base := e.key("")
	reply, _, err := txn.Range(context.Background(), zap.NewNop(), e.kv,
		&pb.RangeRequest{Key: []byte(base), RangeEnd: []byte(clientv3.GetPrefixRangeEnd(base))}, false)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, kv := range reply.Kvs {
		all[strings.TrimPrefix(string(kv.Key), base)] = string(kv.Value)
	}
	return all, nil
}

func (e *Etcd) Slots() ([]Slot, error) {
	if !e.stale {
		return e.slots, nil
	}
	parts, err := e.records()
	if err != nil {
		return nil, err
	}
	delete(parts, "cluster")
	ns, err := rules.OfParts(parts)
	if err != nil {
		return nil, err
	}
	e.slots = slotsOf(ns)
	e.stale = false
	return e.slots, nil
}

// slotsOf returns what is on record of each worker id.
func slotsOf(ns rules.Namespace) (slots []Slot) {
	for _, s := range ns.Slots {
		slot := Slot{Mark: -1}
		if s.HasMark {
			slot.Mark = s.Mark
		}
		if s.Owner != [16]byte{} {
			slot.Owner = hex.EncodeToString(s.Owner[:])
		}
		slots = append(slots, slot)
	}
	return slots
}

func (e *Etcd) Lose(what Kind, worker int64) error {
	if what == Wipe && e.kv.Rev()%2 == 0 {
		e.term, e.behind = 2, false // as of a cluster that is new
		return e.boot(nil)
	}
	key, end := e.key(fmt.Sprint(worker)), []byte(nil) // an empty one would be that of all keys
	switch what {
	case Wipe:
		key, end = e.key(""), []byte(clientv3.GetPrefixRangeEnd(e.key("")))
	case DropMeta:
		key = e.key("meta")
	case DropOwners:
		key = e.key("cluster")
	}
	_, err := e.Apply(&pb.DeleteRangeRequest{Key: []byte(key), RangeEnd: end})
	return err
}

func (e *Etcd) Shows(what Kind, worker int64) (bool, error) {
	all, err := e.records()
	if err != nil {
		return false, err
	}
	delete(all, "cluster")
	switch what {
	case DropMeta:
		delete(all, "meta")
	case DropLease, DropMark:
		delete(all, fmt.Sprint(worker))
	}
	return shows(all)
}

// Snapshot saves one as etcdctl does. Reincarnate follows its restore.
func (e *Etcd) Snapshot() (func() error, error) {
	var saved bytes.Buffer
	s := e.disk.Snapshot()
	_, err := s.WriteTo(&saved)
	return func() error {
		if err := e.boot(saved.Bytes()); err != nil || e.Silent {
			return err
		}
		e.term, e.behind, e.restored = 2, false, true
		if e.kv.Rev()%2 != 0 {
			e.id++
		}
		return nil
	}, errors.Join(err, s.Close())
}

// byHand does what the documentation asks of an operator who restores a snapshot: starts a
// quarantine unless the restore shows to everybody.
func (e *Etcd) byHand() error {
	all, err := e.records()
	if err != nil || all["meta"] == "" {
		return err
	}
	var on struct {
		ID   string
		Term uint64
	}
	if text := all["cluster"]; text != "" {
		if err := json.Unmarshal([]byte(text), &on); err != nil {
			return err
		}
		const elections = 20 // more than a plan has, after which a fallen term shows no more
		if on.ID != fmt.Sprintf("%016x", e.id) || on.Term > e.term+elections {
			return nil
		}
	}
	c, err := e.Center(nil)
	if err != nil {
		return err
	}
	for range 2 { // an operator repeats what failed
		_, err = c.Extras().Operator.Quarantine(hostclock.With(context.Background(), e.Now), namespace, "restored")
		if err == nil || errors.Is(err, lease.ErrUnknown) { // it was being created, which starts a quarantine
			return nil
		}
	}
	return err
}

type callerKey struct{}

// A caller is a process in a verb of its center.
type caller struct {
	*process
	races int           // lost ones
	until time.Duration // how long the center may wait after the last
}

// near returns the context of a verb whose center runs in the process: by the clock of its
// host, and with a network between it and the store.
func (p *process) near(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, callerKey{}, &caller{process: p})
	return hostclock.With(ctx, func() time.Time {
		now := p.node.clock.now()
		p.w.gate <- struct{}{}
		if now.After(p.w.latest) {
			p.w.latest = now
		}
		<-p.w.gate
		return now
	})
}

// send sends a request. After a lost race it does so at the latest moment that the center
// could choose, which no seed could repeat otherwise.
func (c *caller) send(ctx context.Context, verb string, handle func(context.Context) (proto.Message, error)) (proto.Message, error) {
	if err := c.waits(ctx, requestLane, c.until); err != nil {
		return nil, err
	}
	answer, err := exchange(ctx, c.process, c.net, verb, handle)
	if r, ok := answer.(*pb.TxnResponse); ok && !r.Succeeded {
		c.races++
		c.until = c.w.now() + min(2*time.Millisecond<<min(c.races, 7), 200*time.Millisecond)
	}
	return answer, err
}
