package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

// newEtcd is three members of etcd. Its clock is that of the processes, which nobody steps.
func newEtcd(t *testing.T) *arena {
	e := testserver.NewEtcd(t, 3)
	first := e.Nodes[0]
	n := newNetwork(t, addrs(e.Nodes)...)
	a := &arena{
		network: n, share: 100, clock: &clock{}, tell: append(slots(), meta),
		direct: func() store { return store{Kind: etcd, Addrs: addrs(e.Nodes)} },
		store: func(group int) store {
			s := store{Kind: etcd}
			for _, proxied := range n.routes(group) {
				s.Addrs = append(s.Addrs, proxied)
			}
			return s
		},
	}
	follower := func() *testserver.Server { return others(e.Nodes, e.Leader())[0] }
	down := func(name string, end, back func(*testserver.Server), members func() []*testserver.Server) {
		a.faults = append(a.faults, fault{name, func(ctx context.Context, random *rand.Rand) error {
			some := members()
			for _, s := range some {
				end(s)
			}
			short(ctx, random)
			for _, s := range some {
				back(s)
			}
			e.Await(e.Nodes...)
			return nil
		}})
	}
	kill, start, hang, resume := (*testserver.Server).Kill, (*testserver.Server).Start, (*testserver.Server).Pause, (*testserver.Server).Resume
	leader := func() []*testserver.Server { return []*testserver.Server{e.Leader()} }
	minority := func() []*testserver.Server { return []*testserver.Server{follower()} }
	down("leader killed", kill, start, leader)
	down("minority killed", kill, start, minority)
	down("leader stopped and continued", hang, resume, leader)
	down("minority stopped and continued", hang, resume, minority)
	down("leader cut off", e.Isolate, e.Heal, leader)
	down("quorum killed", kill, start, func() []*testserver.Server { return e.Nodes[1:] })
	down("every member killed at once", kill, start, func() []*testserver.Server { return e.Nodes })
	remove := func(name string, records func(*rand.Rand) []string, args ...string) {
		a.faults = append(a.faults, fault{name, func(ctx context.Context, random *rand.Rand) error {
			some, err := a.lose(ctx, records(random)...)
			for _, r := range some {
				e.Ctl(first, append([]string{"del", etcdseq.DefaultPrefix + namespace + "/" + r}, args...)...)
			}
			return err
		}})
	}
	remove("slots deleted", func(random *rand.Rand) []string { return sample(random, slots()) })
	remove("record of the namespace deleted", func(*rand.Rand) []string { return []string{meta} })
	remove("record of the namespace and slots deleted", func(random *rand.Rand) []string { return append(sample(random, slots()), meta) })
	remove("all records deleted", func(*rand.Rand) []string { return []string{""} }, "--prefix")
	saved, early, restores := "", true, 0 // early: times differed
	a.faults = append(a.faults,
		fault{"member wiped, joins again", func(context.Context, *rand.Rand) error {
			s := follower()
			s.Kill()
			e.Rejoin(s)
			return nil
		}},
		fault{"compaction and defragmentation", func(context.Context, *rand.Rand) error {
			text := e.Ctl(first, "get", "nothing", "--write-out=fields")
			_, revision, _ := strings.Cut(text[strings.LastIndex(text, "Revision"):], ": ")
			e.Ctl(first, "compact", strings.Fields(revision)[0])
			e.Ctl(first, "defrag")
			return nil
		}},
		fault{"fell back to a snapshot", func(ctx context.Context, random *rand.Rand) error {
			if early || random.IntN(2) == 0 { // or to the same again
				saved = e.Save(first)
				_, early = a.crew.differ()
				pause(ctx, a.lag(3*ttl, random.Float64()))
			}
			restores++
			e.Restore(saved, fmt.Sprint("restored-", restores))
			return nil
		}},
	)
	return a
}
