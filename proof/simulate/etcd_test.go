package simulate

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
)

// onEtcd is the product on a changed etcd.
func onEtcd(change func(*Etcd)) WorkerIDs {
	return WorkerIDs{Store: func() (Store, error) {
		s, err := NewEtcd()
		if err == nil {
			change(s.(*Etcd))
		}
		return s, err
	}}
}

// comparing is an etcd whose transactions compare only what is kept.
func comparing(keep func(*pb.Compare) bool) WorkerIDs {
	return onEtcd(func(e *Etcd) {
		e.Handle = func(req proto.Message, next func(proto.Message) (proto.Message, error)) (proto.Message, error) {
			if r, ok := req.(*pb.TxnRequest); ok {
				less := &pb.TxnRequest{Success: r.Success, Failure: r.Failure}
				for _, c := range r.Compare {
					if keep(c) {
						less.Compare = append(less.Compare, c)
					}
				}
				req = less
			}
			return next(req)
		}
	})
}

func nothing(*pb.Compare) bool     { return false }
func butMeta(c *pb.Compare) bool   { return !bytes.HasSuffix(c.Key, []byte("/meta")) }
func butWorker(c *pb.Compare) bool { return !bytes.ContainsAny(c.Key[len(c.Key)-1:], "0123456789") }

func silent(e *Etcd) { e.Silent = true }

// forgetful acknowledges each twentieth write and loses it.
func forgetful(e *Etcd) {
	writes := 0
	e.Handle = func(req proto.Message, next func(proto.Message) (proto.Message, error)) (proto.Message, error) {
		r, ok := req.(*pb.TxnRequest)
		if writes++; ok && writes%20 == 0 {
			req = &pb.TxnRequest{Compare: r.Compare}
		}
		return next(req)
	}
}

// unmarked answers a write as if it had reached the cluster that was read last.
func unmarked(e *Etcd) {
	last := &pb.ResponseHeader{}
	e.Handle = func(req proto.Message, next func(proto.Message) (proto.Message, error)) (proto.Message, error) {
		reply, err := next(req)
		switch r := reply.(type) {
		case *pb.RangeResponse:
			last = r.Header
		case *pb.TxnResponse:
			r.Header.ClusterId, r.Header.RaftTerm = last.ClusterId, last.RaftTerm
			r.Header.Revision = max(r.Header.Revision, last.Revision+1)
		}
		return reply, err
	}
}

// betweenReadAndWrite is a plan in which restores forget borrows between the read and the
// write of others, as a slow network makes likely.
func betweenReadAndWrite(seed int) Plan {
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	within := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	p := fair(4, 1)
	p.Dice, p.Net.Delay, p.Length = uint64(seed), second/5, 8*second
	for i := range p.Nodes {
		p.Nodes[i].Issue = second / 50
	}
	for at := second / 5; at < p.Length-second; at += second * 7 / 10 {
		p.Faults = append(p.Faults, Fault{At: at + within(second*7/10), Kind: Failover, For: within(second / 5)})
	}
	return p
}

// firstBorrows is a plan in which the record of a worker id is lost while others are lent for
// the first time, which changes the record of the namespace too.
func firstBorrows(seed int) Plan {
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	p := fair(8, 4)
	p.Dice, p.Net.Delay, p.Length, p.MaxTTL = uint64(seed), second/5, 4*second, 3*second
	for i := range p.Nodes {
		p.Nodes[i].TTL = p.MaxTTL
		if i > 0 {
			p.Nodes[i].Start = second + time.Duration(random.Int64N(int64(second/2)))
		}
	}
	for range 3 {
		p.Faults = append(p.Faults, Fault{At: second + time.Duration(random.Int64N(int64(second/2))), Kind: DropLease})
	}
	inOrder(p.Faults)
	return p
}

// TestBetweenReadAndWrite checks that who wrote to another cluster than it read from uses
// nothing that this cluster had forgotten.
func TestBetweenReadAndWrite(t *testing.T) {
	play(t, "etcd", 40, betweenReadAndWrite, stores["etcd"])
}

// TestClocksApart shows that the clocks of two hosts may differ by the skew across a loss,
// and by any time if there is none.
func TestClocksApart(t *testing.T) {
	loss := Fault{At: 3*second + 1, Kind: Wipe}
	for _, test := range []struct {
		name   string
		apart  time.Duration
		faults []Fault
		unique bool
	}{
		{"by the skew across a loss", second / 10, []Fault{loss}, true},
		{"by more across a loss", 5 * second, []Fault{loss}, false},
		{"by minutes", 5 * time.Minute, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			// The host that is ahead holds the worker id and freezes.
			freeze := Fault{At: 3 * second, Kind: Freeze, Node: 0, For: 16 * second}
			p := fair(2, 1, append([]Fault{freeze}, test.faults...)...)
			p.Nodes[0].Wall = test.apart
			r := Run(t, p, stores["etcd"])
			require.NoError(t, r.Err)
			require.Equal(t, test.unique, r.Broken[Duplicate] == 0, "%s", r)
			require.Equal(t, test.unique, r.OK(), "%s", r)
		})
	}
}
