package simulate

import (
	"slices"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A trial is one kind of trouble that services have.
type trial struct {
	name, title string
	unique      []string // the schemes that issue no duplicate in it
	plan        Plan
}

func (t trial) breaks(scheme string) bool { return !slices.Contains(t.unique, scheme) }

// ttl is short to keep runs short. All times of a trial are multiples of it.
const ttl = 600 * time.Millisecond

// service is a service whose nodes start one after the other: as many replicas as
// worker ids, no faults, one time of day.
func service(pool int64, nodes int, length time.Duration, faults ...Fault) Plan {
	p := Plan{
		Dice: 1, Pool: pool, MaxTTL: ttl, Skew: ttl / 10, Wait: 5 * ttl,
		// Few sequence bits: processes that share a worker id and a tick soon make equal ids.
		Layout: snowflake.Layout{Epoch: 946684800000, TimeUnit: time.Millisecond, WorkerBits: 3, SequenceBits: 2}.WithDefaults(),
		Ahead:  5 * time.Millisecond,
		Net:    Net{Delay: 2 * time.Millisecond},
		Length: length, Faults: faults,
	}
	for i := range nodes {
		p.Nodes = append(p.Nodes, Node{Start: time.Duration(i) * 10 * time.Millisecond, TTL: ttl, Rate: 100, Issue: ttl / 20})
	}
	return p
}

// and returns a changed plan.
func and(p Plan, change func(*Plan)) Plan {
	change(&p)
	return p
}

func crash(node int, at, again time.Duration) Fault {
	return Fault{Kind: Crash, Node: node, At: at, For: again}
}

func stop(node int, at, again time.Duration) Fault {
	return Fault{Kind: Stop, Node: node, At: at, For: again}
}

// burst is a bulk insert that takes longer than a node's pause between uses.
func burst(node int, at time.Duration) Fault {
	return Fault{Kind: Burst, Node: node, At: at, N: 2000}
}

var trials = []trial{
	{
		name: "good", title: "good weather, one replica a worker id",
		unique: []string{"ticket", "counter", "least-score", "get-then-set", "client-clock"},
		plan:   service(4, 4, 10*ttl),
	},
	{
		name: "rolling", title: "two graceful rolling restarts, half of the worker ids in use",
		unique: []string{"ticket", "counter", "least-score", "get-then-set", "client-clock"},
		plan: service(8, 4, 20*ttl,
			stop(0, 3*ttl, ttl/2), stop(1, 5*ttl, ttl/2), stop(2, 7*ttl, ttl/2), stop(3, 9*ttl, ttl/2),
			stop(0, 11*ttl, ttl/2), stop(1, 13*ttl, ttl/2), stop(2, 15*ttl, ttl/2), stop(3, 17*ttl, ttl/2)),
	},
	{
		name: "too-many", title: "one replica more than worker ids (the 33rd of 32)",
		unique: []string{"get-then-set", "client-clock"},
		plan:   service(4, 5, 10*ttl),
	},
	{
		name: "crash-loop", title: "one replica crashes again and again beside two that run",
		unique: []string{"least-score", "get-then-set", "client-clock"},
		plan: service(4, 3, 16*ttl, crash(2, 2*ttl, ttl/3), crash(2, 4*ttl, ttl/3), crash(2, 6*ttl, ttl/3), crash(2, 8*ttl, ttl/3),
			crash(2, 10*ttl, ttl/3), crash(2, 12*ttl, ttl/3)),
	},
	{
		name: "paused", title: "a process stands still for five leases, is replaced, and wakes up",
		plan: service(4, 4, 16*ttl, Fault{Kind: Freeze, Node: 0, At: 3 * ttl, For: 5 * ttl, N: 1}),
	},
	{
		name: "cut", title: "a process does not reach the store for eight leases, and is replaced",
		plan: and(service(4, 5, 16*ttl, Fault{Kind: Cut, Node: 0, At: 3 * ttl, For: 8 * ttl}),
			func(p *Plan) { p.Nodes[4].Start = 6 * ttl }),
	},
	{
		name: "wiped", title: "the store is wiped (`FLUSHALL`, `TRUNCATE`), then a replica starts",
		plan: and(service(4, 3, 10*ttl, Fault{Kind: Wipe, At: 3 * ttl}),
			func(p *Plan) { p.Nodes[2].Start = 4 * ttl }),
	},
	{
		name: "failover", title: "failover to a replica that is two leases behind, then a replica starts",
		plan: and(service(4, 4, 10*ttl, Fault{Kind: Failover, At: 5 * ttl, For: 2 * ttl}),
			func(p *Plan) { p.Nodes[2].Start, p.Nodes[3].Start = 4*ttl, 5*ttl+ttl/20 }),
	},
	{
		name: "lost-reply", title: "a start whose reply is lost, all worker ids in use",
		unique: []string{"get-then-set", "client-clock"},
		plan:   service(4, 4, 12*ttl, Fault{Kind: LoseReply, Node: 1, At: 0}),
	},
	{
		name: "clock-back", title: "`SIGKILL`, the host's clock steps back by eight leases, restart",
		unique: []string{"client-clock"},
		plan: and(service(4, 4, 24*ttl, crash(0, 6*ttl, 2*ttl), Fault{Kind: StepWall, Node: 0, At: 7 * ttl, By: -8 * ttl}),
			func(p *Plan) { p.Nodes[0].Issue = ttl / 60 }),
	},
	{
		name: "handover", title: "a host whose clock is fast by eight leases stops, one that is right starts",
		unique: []string{"client-clock"},
		plan: and(service(2, 3, 20*ttl, stop(0, 3*ttl, 0)), func(p *Plan) {
			p.Nodes[0].Wall, p.Nodes[0].Issue = 8*ttl, ttl/60
			p.Nodes[2].Start, p.Nodes[2].Issue = 4*ttl, ttl/60
		}),
	},
	{
		name: "fast-clock", title: "a host whose clock is fast by two leases finds all worker ids in use",
		unique: []string{"get-then-set"},
		plan: and(service(4, 5, 10*ttl), func(p *Plan) {
			p.Nodes[4].Wall, p.Nodes[4].Start = 2*ttl, 3*ttl
		}),
	},
	{
		name: "long", title: "a replica starts 250 leases (two hours of 30 s) after the other",
		unique: []string{"ticket", "least-score", "get-then-set", "client-clock"},
		plan: and(service(4, 2, 255*ttl, burst(0, 252*ttl), burst(1, 252*ttl)), func(p *Plan) {
			p.Nodes[1].Start = 250 * ttl
			p.Ahead = time.Second
			for i := range p.Nodes {
				p.Nodes[i].Issue = ttl / 4
			}
		}),
	},
}
