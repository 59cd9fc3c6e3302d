//go:build prove

package testserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func createTable(t *testing.T, s *Server, name string) {
	_, err := openSQL(t, "mysql", s.DSN()).Exec("CREATE TABLE " + name + " (id BIGINT)")
	require.NoError(t, err)
}

func hasTable(t *testing.T, s *Server, name string) (there bool) {
	require.NoError(t, openSQL(t, "mysql", s.DSN()).
		QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_name = ?", name).Scan(&there))
	return there
}

func TestReplica(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]struct {
		primary func(testing.TB, ...string) *Server
		replica func(testing.TB, *Server, ...string) *Server
		put     func(t *testing.T, s *Server, k string)
		has     func(t *testing.T, s *Server, k string) bool
	}{
		"redis": {
			NewRedis, NewRedisReplica,
			func(t *testing.T, s *Server, k string) {
				require.NoError(t, openRedis(t, s.Addr()).Set(t.Context(), k, "", 0).Err())
			},
			func(t *testing.T, s *Server, k string) bool {
				n, err := openRedis(t, s.Addr()).Exists(t.Context(), k).Result()
				require.NoError(t, err)
				return n == 1
			},
		},
		"mariadb": {NewMariaDBPrimary, NewMariaDBReplica, createTable, hasTable},
		"mysql":   {NewMySQLPrimary, NewMySQLReplica, createTable, hasTable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrives := func(s *Server, k string) {
				t.Helper()
				require.Eventually(t, func() bool { return e.has(t, s, k) }, time.Minute, 10*time.Millisecond)
			}
			first := e.primary(t)
			e.put(t, first, "a")
			second := e.replica(t, first)
			require.True(t, e.has(t, second, "a"), "it has what was there")
			e.put(t, first, "b")
			arrives(second, "b")

			second.CutLink()
			e.put(t, first, "c")
			time.Sleep(100 * time.Millisecond)
			require.False(t, e.has(t, second, "c"))
			second.Follow(first)
			require.True(t, e.has(t, second, "c"))

			second.Pause() // the link stays open
			e.put(t, first, "d")
			second.Resume()
			arrives(second, "d")

			first.Kill()
			second.Promote()
			e.put(t, second, "e")
			require.True(t, e.has(t, second, "d"))
			first.Start()
			first.Follow(second)
			require.True(t, e.has(t, first, "e"), "a former primary follows the new one")
		})
	}
}
