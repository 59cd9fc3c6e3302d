package main

import (
	"fmt"
	"log/slog"

	"github.com/alicebob/miniredis/v2"

	"github.com/snowlease/snowlease/idworker"
)

// embedRedis starts a Redis within this process, which stands in for a server, and
// changes cfg so that it is used. The caller closes it.
func embedRedis(cfg *config, log *slog.Logger) (*miniredis.Miniredis, error) {
	srv, err := miniredis.Run()
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	// It does not tell a run_id, and loses nothing while it is there.
	cfg.IDWorker.Quarantine = idworker.QuarantineNever
	cfg.Providers.Redis.Addrs = []string{srv.Addr()}
	log.Warn("fxapp: an embedded Redis is used: copies of this program do not share it, so run one only, or give -redis host:port", "addr", srv.Addr())
	return srv, nil
}
