package testserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShiftClock(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]struct {
		server func(testing.TB, ...string) *Server
		clock  func(t *testing.T, s *Server) time.Time
	}{
		"redis": {NewRedis, func(t *testing.T, s *Server) time.Time {
			now, err := openRedis(t, s.Addr()).Time(t.Context()).Result()
			require.NoError(t, err)
			return now
		}},
		"mysql": {NewMariaDB, func(t *testing.T, s *Server) (now time.Time) {
			require.NoError(t, openSQL(t, "mysql", s.DSN()).QueryRow("SELECT UTC_TIMESTAMP(6)").Scan(&now))
			return now
		}},
		"postgres": {NewPostgres, func(t *testing.T, s *Server) (now time.Time) {
			require.NoError(t, openSQL(t, "pgx", s.DSN()).QueryRow("SELECT statement_timestamp()").Scan(&now))
			return now
		}},
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
