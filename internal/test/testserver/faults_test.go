//go:build prove

package testserver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a server has committed outlives a kill and a pause, and not a wipe.
func TestSQLServer(t *testing.T) {
	t.Parallel()
	for _, e := range sqlEngines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			srv := e.server(t)
			addr := srv.Addr()
			db := openSQL(t, e.driver, srv.DSN())
			_, err := db.Exec("CREATE TABLE t AS SELECT 42 AS n")
			require.NoError(t, err)

			srv.Pause()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err = db.ExecContext(ctx, "SELECT 1") // on an open connection
			require.Error(t, err)
			srv.Resume()
			_, err = db.Exec("SELECT 1")
			require.NoError(t, err)

			for _, end := range []func(){srv.Kill, srv.Stop} {
				srv.Pause() // both end a paused server too
				end()
				require.Error(t, openSQL(t, e.driver, srv.DSN()).Ping())
				srv.Start()
				require.Equal(t, addr, srv.Addr())
				var n int
				require.NoError(t, openSQL(t, e.driver, srv.DSN()).QueryRow("SELECT n FROM t").Scan(&n))
				require.Equal(t, 42, n)
			}

			srv.Kill()
			srv.Wipe()
			srv.Start()
			require.Error(t, openSQL(t, e.driver, srv.DSN()).QueryRow("SELECT n FROM t").Scan(new(int)))
		})
	}
}
