package chaos

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// topologies lists what centers run on. The topologies of one engine follow one another
// and share its time.
var topologies = []struct {
	engine, name string
	arena        func(*testing.T) *arena
}{
	{"redis", single, newSingle},
	{"redis", sentinel, newSentinel},
	{"redis", cluster, newCluster},
	{"mariadb", "pair", func(t *testing.T) *arena {
		return newPair(t, testserver.NewMariaDBPrimary, testserver.NewMariaDBReplica)
	}},
	{"mysql", "pair", func(t *testing.T) *arena { return newPair(t, testserver.NewMySQLPrimary, testserver.NewMySQLReplica) }},
	{"galera", "one writer", newGalera},
	{"postgres", single, newPostgres},
	{"etcd", "three members", newEtcd},
	{"local", oneHost, newLocal},
	{"numbers", "redis and postgres", newNumbers},
	{"numbers", sentinel, counted(newSentinel)},
	{"numbers", cluster, counted(newCluster)},
}

// TestChaos checks that, whatever happens to processes, connections, servers and their
// clocks, no id is issued twice, each id lies within a grant of its process, and no
// two processes are granted the same millisecond of a worker id.
func TestChaos(t *testing.T) {
	r := newResults(t)
	t.Cleanup(r.write)
	for _, engine := range []string{"galera", "redis", "numbers", "mariadb", "mysql", "postgres", "etcd", "local"} { // the longest first
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, topology := range topologies {
				if topology.engine != engine {
					continue
				}
				t.Run(topology.name, func(t *testing.T) {
					s := newStage(t, topology.arena(t), engine+" "+topology.name, r.seed)
					v := s.run()
					r.add(s, v)
					require.True(t, v.sound(), "%d ids again, %d outside, %d falling, %d grants shared, %d runs out of order:\n%v",
						v.duplicates, v.outside, v.falling, v.shared, v.disordered, v.described)
					for _, name := range s.streams {
						require.Positive(t, v.streams[name], "numbers of %s", name)
					}
				})
			}
		})
	}
}

// TestControls checks that the same crew and the same checks find the duplicates of
// processes that break the protocol.
func TestControls(t *testing.T) {
	const (
		killed    = "processes killed"
		restarted = "processes restarted in good order"
		stopped   = "processes stopped past three TTLs while they issue"
		back      = "center's clock stepped back, and forward again"
	)
	base := rand.Uint64N(1 << 32)
	if *seed != 0 {
		base = *seed
	}
	control := func(breaking, where string, arena func(*testing.T) *arena, faults ...string) {
		t.Run(breaking+"/"+where, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, arena(t), breaking+" "+where, base)
			s.order.Break, s.order.Calm, s.length = breaking, false, 3*time.Second
			// A few processes and fewer worker ids show it too.
			s.order.Request.Last, s.size = 7, 12
			s.only = faults
			v := s.run()
			require.Positive(t, v.duplicates, "seed %d: nothing was found", base)
			t.Logf("%d of %d ids were issued again; %d grants shared a worker id", v.duplicates, v.ids, v.shared)
		})
	}
	control(forgetLastUse, "redis", func(t *testing.T) *arena {
		// The next process starts at the current clock.
		a, d := newSingle(t), -2*time.Second
		a.faults = []fault{{back, func(context.Context, *rand.Rand) error {
			a.clock.step(d)
			d = -d
			return nil
		}}}
		return a
	}, restarted, back)
	control(ignoreCeiling, "redis", newSingle, stopped, killed)
	control(apart, "local", newLocal, killed)
	control(string(careless), "postgres", newNumbers, stopped, killed)
	control(string(forgetful), sentinel, counted(newSentinel), promoted)
	control(string(forgetful), cluster, counted(newCluster), takenOver)
	control(ignoreCeiling, "galera", newGalera, stopped, killed)
}
