package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/redisseq"
)

// embedRedis starts a Redis within this process, which stands in for a server, opens
// the namespace in it and changes cfg so that it is used. The caller closes it.
func embedRedis(ctx context.Context, cfg *config, log *slog.Logger) (srv *miniredis.Miniredis, err error) {
	srv, err = miniredis.Run()
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	client := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	defer func() {
		if err = errors.Join(err, client.Close()); err != nil {
			srv.Close()
			srv, err = nil, fmt.Errorf("open the namespace in the embedded Redis: %w", err)
		}
	}()
	// It does not tell a run_id, and loses nothing while it is there.
	cfg.IDWorker.Quarantine = idworker.QuarantineNever
	cfg.Providers.Redis.Addrs = []string{srv.Addr()}
	if cfg.IDWorker.Mode == idworker.ModeRedisSequence {
		log.Warn("fxapp: an embedded Redis counts the ids: copies of this program do not share it, so run one only, or give -redis host:port", "addr", srv.Addr())
		return srv, nil
	}
	req, err := cfg.IDWorker.Request()
	if err != nil {
		return srv, err
	}
	center, err := redisseq.New(client, redisseq.WithQuarantine(redisseq.Never))
	if err != nil {
		return srv, err
	}
	log.Warn("fxapp: an embedded Redis lends the worker ids: copies of this program do not share it, so run one only, or give -redis host:port", "addr", srv.Addr())
	// It is empty and nobody else's: nothing was lent before.
	return srv, center.Init(ctx, req)
}
