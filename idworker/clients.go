package idworker

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/redisseq"
)

// Clients are the clients that a worker uses. The worker ignores those that the mode does not
// need. A nil client counts as missing. The caller closes the clients after the worker.
type Clients struct {
	// DB is the database of mode db. Without GORM, use Center.
	DB *gorm.DB
	// Redis is the client of modes redis and redis-sequence.
	Redis redis.UniversalClient
	// Center, such as a center of dbseq.Open, takes precedence over modes auto, db and redis; modes
	// local and redis-sequence ignore it. Config.Store's Durable, WaitReplicas and TablePrefix do
	// not affect it: use the center's own options, such as dbseq.WithDurable. Numbers and backdated
	// ids are in the database of a center on dbseq, or of a wrapper of one.
	Center lease.Center
	// Logger logs the events of docs/design/log.md. Its handler must not block, and must not
	// call the worker. Default: nothing is logged. (Module has slog.Default().)
	Logger *slog.Logger
}

// A wiring is Clients together with the parts that only fx provides.
type wiring struct {
	Clients
	numbers  numbers.Store
	shutdown func() // ends the fx application; nil without fx
}

func (c Clients) wiring() wiring {
	if fault.Nil(c.Redis) {
		c.Redis = nil
	}
	if fault.Nil(c.Center) {
		c.Center = nil
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return wiring{Clients: c, numbers: past(c.Center)}
}

// NewCenter returns the center that Open would create for cfg; it ignores Clients.Center. Use it
// to wrap the center or to share it among several workers. It does no I/O with a server. Close
// the workers first, then the center.
//
// Errors: an error that joins all problems of cfg, a missing or ambiguous client, and mode
// redis-sequence, which has no center.
func NewCenter(cfg Config, clients Clients) (lease.Center, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	c, err := p.newCenter(clients.wiring())
	if err != nil {
		return nil, fmt.Errorf("snowlease: %w", err)
	}
	return c, nil
}

func (p plan) newCenter(w wiring) (lease.Center, error) {
	mode := p.Mode
	if mode == ModeAuto {
		only, err := w.auto("mode", "lease.Center", `"db" or "redis"`)
		if err != nil {
			return nil, err
		}
		mode = Mode(only)
	}
	var c lease.Center
	var err error
	switch mode {
	case ModeLocal:
		c, err = hostseq.New(p.Local, p.layout, hostseq.WithMaxAhead(p.MaxAhead))
	case ModeDB:
		switch {
		case w.DB == nil:
			err = w.absent("no *gorm.DB and no lease.Center", "Clients a DB, or without GORM a Center, such as one of dbseq.Open")
		case p.Store.WaitReplicas > 0:
			err = fmt.Errorf("store.wait_replicas %d: %s", p.Store.WaitReplicas, waitReplicasElsewhere)
		default:
			c, err = gormdb.Center(w.DB, dbseq.WithDurable(p.Store.Durable), dbseq.WithTablePrefix(p.Store.TablePrefix))
		}
	case ModeRedis:
		client, none := w.needRedis("mode redis")
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

// auto resolves the value auto of a key to db or redis, whichever client is given. other is an
// alternative to these clients, for the error.
func (w wiring) auto(key, other, choices string) (string, error) {
	switch {
	case w.DB != nil && w.Redis != nil:
		return "", fmt.Errorf("%s auto: there are both a *gorm.DB and a Redis client: set %s", key, choices)
	case w.DB != nil:
		return string(ModeDB), nil
	case w.Redis != nil:
		return string(ModeRedis), nil
	}
	return "", fmt.Errorf("%s auto: %w", key, w.absent("no *gorm.DB, redis.UniversalClient or "+other,
		"Clients a DB or a Redis, or without GORM a Center, such as one of dbseq.Open"))
}

// needRedis returns the Redis client. Its error begins with what, the name of the part that needs
// it.
func (w wiring) needRedis(what string) (redis.UniversalClient, error) {
	if w.Redis == nil {
		return nil, fmt.Errorf("%s: %w", what, w.absent("no redis.UniversalClient", "Clients a Redis"))
	}
	return w.Redis, nil
}

// absent returns the error for a missing client. with names the fields of Clients that provide
// it. In fx, a client of another type, with a missing dependency or with a name tag looks absent
// too.
func (w wiring) absent(what, with string) error {
	if w.shutdown == nil {
		return fmt.Errorf("%s: give %s; one that is nil counts as none", what, with)
	}
	return fmt.Errorf("%s in the fx graph: provide one, not nil, with its dependencies, such as a providers.Config. To fx, a *redis.Client, a *dbseq.Center and a client with a name tag are other types: fx.Provide(fx.Annotate(newCenter, fx.As(new(lease.Center))))", what)
}
