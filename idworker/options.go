package idworker

import (
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/redisseq"
)

// An Option configures Open or NewCenter. Clients that the mode does not need are ignored, and
// so is a nil Option.
type Option func(*options)

type options struct {
	db       *gorm.DB
	redis    redis.UniversalClient
	center   lease.Center
	numbers  segment.Store // of an fx application
	log      *slog.Logger
	shutdown func() // ends the fx application; nil without fx
}

// WithDB sets the database of mode db. The caller closes it. A nil db counts as none. Without
// GORM, use WithCenter.
func WithDB(db *gorm.DB) Option { return func(o *options) { o.db = db } }

// WithRedis sets the Redis client of modes redis and redis-sequence. The caller closes it. A
// nil client counts as none.
func WithRedis(client redis.UniversalClient) Option {
	if fault.Nil(client) {
		client = nil
	}
	return func(o *options) { o.redis = client }
}

// WithCenter sets the center, such as one of dbseq.Open. It takes precedence over modes auto,
// db and redis; modes local and redis-sequence ignore it. The caller closes it after the
// worker. A nil center counts as none. The center has a quarantine of its own, such as that
// of dbseq.WithDurable: Config.Store.Durable does not change it.
func WithCenter(center lease.Center) Option {
	if fault.Nil(center) {
		center = nil
	}
	return func(o *options) { o.center = center }
}

// WithLogger sets the logger. docs/design/log.md lists the events. Its handler must not block,
// and must not call the worker. By default, and with a nil log, nothing is logged: only Module has
// slog.Default().
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

func optionsOf(opts []Option) options {
	var o options
	for _, set := range opts {
		if set == nil {
			continue
		}
		set(&o)
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	return o
}

// NewCenter returns the center that Open would create for cfg and opts; it ignores
// WithCenter. Use it to wrap the center or to share it among several workers. It calls no
// server. Close the workers first, then the center.
//
// Errors: all faults of cfg joined in one, a missing or ambiguous client, and mode
// redis-sequence, which has no center.
func NewCenter(cfg Config, opts ...Option) (lease.Center, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	c, err := p.newCenter(optionsOf(opts))
	if err != nil {
		return nil, fmt.Errorf("snowlease: %w", err)
	}
	return c, nil
}

func (p plan) newCenter(o options) (lease.Center, error) {
	mode := p.Mode
	if mode == ModeAuto {
		only, err := o.auto("mode", "lease.Center", `"db" or "redis"`)
		if err != nil {
			return nil, err
		}
		mode = Mode(only)
	}
	var c lease.Center
	var err error
	switch mode {
	case ModeLocal:
		var opts []hostseq.Option
		if p.MaxAhead > 0 {
			opts = append(opts, hostseq.WithMaxAhead(p.MaxAhead))
		}
		c, err = hostseq.New(p.Local, p.layout, opts...)
	case ModeDB:
		switch {
		case o.db == nil:
			err = o.absent("no *gorm.DB and no lease.Center", "WithDB(db), or without GORM WithCenter(center) with a center of dbseq.Open")
		case p.Store.WaitReplicas > 0:
			err = fmt.Errorf("store.wait_replicas %d: %s", p.Store.WaitReplicas, waitReplicasElsewhere)
		default:
			c, err = gormdb.Center(o.db, dbseq.WithDurable(p.Store.Durable), dbseq.WithTablePrefix(p.Store.TablePrefix))
		}
	case ModeRedis:
		client, none := o.needRedis("mode redis")
		if none != nil {
			return nil, none
		}
		c, err = redisseq.New(client, redisseq.WithDurable(p.Store.Durable),
			redisseq.WithWaitReplicas(p.Store.WaitReplicas, p.replicaTime()))
	default:
		return nil, fmt.Errorf("mode %q has no center: choose %s, %s, %s or %s", mode, ModeAuto, ModeDB, ModeRedis, ModeLocal)
	}
	if err != nil {
		return nil, fmt.Errorf("mode %s: %w", mode, err)
	}
	return c, nil
}

// auto returns db or redis for a key with the value auto: the only client given. In place of
// one, other would do.
func (o options) auto(key, other, choices string) (string, error) {
	switch {
	case o.db != nil && o.redis != nil:
		return "", fmt.Errorf("%s auto: there are both a *gorm.DB and a Redis client: set %s", key, choices)
	case o.db != nil:
		return string(ModeDB), nil
	case o.redis != nil:
		return string(ModeRedis), nil
	}
	return "", fmt.Errorf("%s auto: %w", key, o.absent("no *gorm.DB, redis.UniversalClient or "+other,
		"WithDB(db) or WithRedis(client), or without GORM WithCenter(center) with a center of dbseq.Open"))
}

// needRedis returns the Redis client. Its error begins with what, which needs it.
func (o options) needRedis(what string) (redis.UniversalClient, error) {
	if o.redis == nil {
		return nil, fmt.Errorf("%s: %w", what, o.absent("no redis.UniversalClient", "WithRedis(client)"))
	}
	return o.redis, nil
}

// absent is the error for a missing client. with names the options of Open that give one. In fx a
// client of another type, with a missing dependency or with a name tag looks absent too.
func (o options) absent(what, with string) error {
	if o.shutdown == nil {
		return fmt.Errorf("%s: give %s; one that is nil counts as none", what, with)
	}
	return fmt.Errorf("%s in the fx graph: provide one, not nil, with its dependencies, such as a providers.Config. To fx, a *redis.Client, a *sqlsegments.Store, a *dbseq.Center and a client with a name tag are other types: fx.Provide(fx.Annotate(newCenter, fx.As(new(lease.Center))))", what)
}
