//go:build prove

package testserver

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/limit"
)

func TestShiftClock(t *testing.T) {
	t.Parallel()
	query := func(driver, clock, wait string) func(*testing.T, *Server) time.Time {
		return func(t *testing.T, s *Server) (now time.Time) {
			db := openSQL(t, driver, s.DSN())
			require.NoError(t, db.QueryRow(clock).Scan(&now))
			_, err := db.Exec(wait) // would last for hours by a clock that is ahead
			require.NoError(t, err)
			return now
		}
	}
	for name, e := range map[string]struct {
		server func(testing.TB, ...string) *Server
		clock  func(t *testing.T, s *Server) time.Time
	}{
		"redis": {NewRedis, func(t *testing.T, s *Server) time.Time {
			now, err := openRedis(t, s.Addr()).Time(t.Context()).Result()
			require.NoError(t, err)
			return now
		}},
		"mariadb":  {NewMariaDB, query("mysql", "SELECT UTC_TIMESTAMP(6)", "DO SLEEP(0.01)")},
		"mysql":    {NewMySQL, query("mysql", "SELECT UTC_TIMESTAMP(6)", "DO SLEEP(0.01)")},
		"postgres": {NewPostgres, query("pgx", "SELECT statement_timestamp()", "SELECT pg_sleep(0.01)")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other := e.server(t), e.server(t)
			off := func(want time.Duration) {
				t.Helper()
				require.WithinDuration(t, time.Now().Add(want), e.clock(t, s), time.Minute)
				require.WithinDuration(t, time.Now(), e.clock(t, other), time.Minute)
			}
			off(0)
			for _, d := range []time.Duration{time.Hour, -time.Hour, 0} {
				s.ShiftClock(d)
				off(d)
			}
			s.ShiftClock(-24 * time.Hour)
			s.Kill()
			s.Start()
			off(-24 * time.Hour)
			s.Stop()
			s.ShiftClock(2 * time.Hour)
			s.Wipe()
			s.Start()
			off(2 * time.Hour)
		})
	}
}

// TestWaitsUnderAShiftedClock runs a program that waits for deadlines in all the ways that
// the servers import. Without the shim's help, a wait by a clock that is an hour ahead lasts
// an hour, and one by a clock that is behind ends at once.
func TestWaitsUnderAShiftedClock(t *testing.T) {
	t.Parallel()
	shim, err := clockShim()
	if err != nil {
		leaveOut(t, "C compiler", err.Error())
	}
	program := filepath.Join(t.TempDir(), "waits")
	out, err := output("cc", "-O2", "-Wall", "-Werror", "-o", program, filepath.Join("clock", "waits.c"), "-lpthread")
	require.NoError(t, err, "%s", out)
	for _, d := range []time.Duration{0, time.Hour, -time.Hour} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			clock := filepath.Join(t.TempDir(), "clock")
			require.NoError(t, os.WriteFile(clock, binary.NativeEndian.AppendUint64(nil, uint64(d)), 0o600))
			cmd := exec.CommandContext(limit.Context(t), program)
			cmd.Env = append(os.Environ(), "LD_PRELOAD="+shim, "SNOWLEASE_TEST_CLOCK="+clock)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, 13, strings.Count(string(out), "\n"), "%s", out)
			for line := range strings.Lines(string(out)) {
				var name string
				var lasted int
				_, err := fmt.Sscan(line, &name, &lasted)
				require.NoError(t, err)
				require.GreaterOrEqual(t, lasted, 190, "%s ended too early", name)
			}
		})
	}
}
