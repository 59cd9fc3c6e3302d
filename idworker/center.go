package idworker

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// CenterParams is what NewCenter takes from fx.
type CenterParams struct {
	fx.In

	Config Config
	Clients
}

// NewCenter returns the center that Config.Mode chooses among the clients that are
// there. New calls it where the application provides no lease.Center; an
// application calls it to wrap the choice:
//
//	fx.Provide(func(p idworker.CenterParams) (lease.Center, error) {
//		c, err := idworker.NewCenter(p)
//		return traced{c}, err
//	})
//
// The center is then the application's to close, where it is an io.Closer.
func NewCenter(p CenterParams) (lease.Center, error) {
	cfg := p.Config.WithDefaults()
	db := p.DB
	client, err := p.client()
	if err != nil {
		return nil, fmt.Errorf("idworker: %w", err)
	}
	mode := cfg.Mode
	if mode == ModeLocal {
		return newLocal(cfg)
	}
	if mode == ModeAuto {
		switch {
		case db != nil && client != nil:
			return nil, errors.New(`idworker: mode auto: both a *gorm.DB and a Redis client are there: set mode to "db" or "redis"`)
		case db != nil:
			mode = ModeDB
		case client != nil:
			mode = ModeRedis
		default:
			return nil, fmt.Errorf("idworker: mode auto: there is neither a *gorm.DB nor a redis.UniversalClient or *redis.Client: %s", absent)
		}
	}
	switch mode {
	case ModeDB:
		if db == nil {
			return nil, fmt.Errorf("idworker: mode db: there is no *gorm.DB: %s", absent)
		}
		if cfg.WaitReplicas > 0 {
			return nil, fmt.Errorf("idworker: mode db: wait_replicas %d: %s", cfg.WaitReplicas, waitReplicasElsewhere)
		}
		c, err := dbseq.New(db, dbseq.WithQuarantine(dbseq.Quarantine(cfg.Quarantine)))
		if err != nil {
			return nil, fmt.Errorf("idworker: mode db: %w", err)
		}
		return c, nil
	case ModeRedis:
		if client == nil {
			return nil, fmt.Errorf("idworker: mode redis: there is no redis.UniversalClient or *redis.Client: %s", absent)
		}
		c, err := redisseq.New(client, redisseq.WithQuarantine(redisseq.Quarantine(cfg.Quarantine)),
			redisseq.WithWaitReplicas(cfg.WaitReplicas, cfg.replicaTime()))
		if err != nil {
			return nil, fmt.Errorf("idworker: mode redis: %w", err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("idworker: mode %q has no center: choose %s, %s, %s or %s", mode, ModeAuto, ModeDB, ModeRedis, ModeLocal)
}

// client is the one Redis client, or nil.
func (c Clients) client() (redis.UniversalClient, error) {
	switch {
	case c.RedisClient == nil:
		return c.Redis, nil
	case c.Redis != nil && c.Redis != c.RedisClient:
		return nil, errors.New("both a redis.UniversalClient and another *redis.Client are in the fx graph: provide one of them, or the lease.Center yourself (redisseq.New)")
	}
	return c.RedisClient, nil
}

// newLocal returns what finds worker ids without a center.
func newLocal(cfg Config) (lease.Center, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	var opts []hostseq.Option
	if cfg.MaxAhead > 0 {
		opts = append(opts, hostseq.WithMaxAhead(cfg.MaxAhead))
	}
	c, err := hostseq.New(p.Local, p.layout, opts...)
	if err != nil {
		return nil, fmt.Errorf("idworker: mode local: %w", err)
	}
	return c, nil
}

const absent = "provide one to fx (a client whose own dependency is missing looks absent, and so does one with a name tag: provide a lease.Center made of it by fx.Annotate)"
