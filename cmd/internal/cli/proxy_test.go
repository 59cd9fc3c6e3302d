//go:build prove

package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// stores are well-configured stores, by the form of their address.
var stores = map[string]struct {
	start func(*testing.T) *testserver.Server
	url   func(*testing.T, *testserver.Server) string
}{
	"redis": {
		func(t *testing.T) *testserver.Server { return testserver.NewRedis(t, kept...) },
		func(_ *testing.T, s *testserver.Server) string { return redisURL(s) },
	},
	"mysql": {
		func(t *testing.T) *testserver.Server {
			return testserver.NewMariaDB(t, durable...)
		},
		func(t *testing.T, s *testserver.Server) string { return mysqlURL(t, s.DSN()) },
	},
	"postgres": {
		func(t *testing.T) *testserver.Server {
			return testserver.NewPostgres(t, "-c", "fsync=on", "-c", "full_page_writes=on")
		},
		func(_ *testing.T, s *testserver.Server) string { return s.DSN() },
	},
}

// A proxy before one server changes nothing that the doctor finds. It does find servers
// that answer in turn.
func TestDoctorBehindProxies(t *testing.T) {
	t.Parallel()
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := []*testserver.Server{store.start(t), store.start(t)}
			initialize(t, store.url(t, servers[0]))
			one := []*testserver.Server{testserver.NewHAProxy(t, servers)}
			if name == "postgres" {
				for _, mode := range []string{"transaction", "session", "statement"} {
					one = append(one, testserver.NewPgBouncer(t, servers[0], "pool_mode = "+mode))
				}
			}
			for _, proxy := range one {
				code, all := examine(t, store.url(t, proxy), "--namespace=orders", "--replicas=16")
				require.Zero(t, code, all)
				requireFinding(t, all, lease.LevelOK, "incarnation", "the same on 4 connections")
			}
			turns := testserver.NewHAProxy(t, servers, "option allbackups")
			_, all := examine(t, store.url(t, turns))
			requireFinding(t, all, lease.LevelFault, "incarnation", "4 connections reached 2 different servers")
		})
	}
}
