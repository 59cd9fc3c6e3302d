package idworker

import (
	"cmp"
	"context"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

// Mode selects the center.
type Mode string

// The modes.
const (
	ModeAuto  Mode = "auto"  // the database or Redis, whichever client is given
	ModeDB    Mode = "db"    // a *gorm.DB, or a center of dbseq.Open
	ModeRedis Mode = "redis" // a redis.UniversalClient
	ModeLocal Mode = "local" // Config.Local: no server; uniqueness depends on the source
	// ModeRedisSequence counts ids in Redis: see Config.Sequence. There is no lease. Each id, or
	// block of ids, costs a round trip. Use it for ids that must ascend across processes, and for
	// more processes than worker ids. docs/design/protocol.md#mode-redis-sequence in the repository
	// lists the causes of duplicate ids.
	ModeRedisSequence Mode = "redis-sequence"
)

// Config configures a worker. A zero field means its default. A key that the mode does not use is
// an error, unless it has its default value. The namespace pins some values: all members must
// agree on them, and the center refuses a member that does not. Write a time.Duration as "30s" in
// YAML and as a number of nanoseconds in JSON.
type Config struct {
	// Namespace names the service whose replicas share one pool of worker ids: 1 to 64
	// characters of A-Z a-z 0-9 . _ - . Required, except in mode local without Segments and
	// Series, where the default is "local".
	Namespace string `yaml:"namespace" json:"namespace" env:"NAMESPACE"`
	// Mode is auto, db, redis, local or redis-sequence. auto selects the database or Redis,
	// whichever client is given, and fails if both are. A lease.Center that the application provides
	// takes precedence over auto, db and redis. Modes local and redis-sequence ignore it. Default:
	// auto.
	Mode Mode `yaml:"mode" json:"mode" env:"MODE"`
	// Preset names a layout: default, twitter, discord, wide, yitter or jssafe. Set either
	// Preset or Layout. Default: default.
	Preset string `yaml:"preset" json:"preset" env:"PRESET"`
	// Layout describes the layout field by field.
	Layout snowflake.Layout `yaml:"layout" json:"layout" envPrefix:"LAYOUT_"`
	// Workers is the range of worker ids that this process may borrow, such as "0-15". With disjoint
	// ranges, two centers can serve one stream of ids. Backdated ids need a range that ends with the
	// layout's last worker id. Not in mode redis-sequence. Default: all worker ids of the layout.
	Workers snowlease.Workers `yaml:"workers" json:"workers" env:"WORKERS"`
	// Reserved is the number of the highest worker ids to keep for backdated ids (package history).
	// They are never leased. Backdated ids need a database as the center. The namespace pins the
	// number of worker ids that remain. Default: 0.
	Reserved int64 `yaml:"reserved" json:"reserved" env:"RESERVED"`
	// Business is the business number that ids carry if the layout has business bits: 0 to
	// 2^business_bits - 1. IdWorker.For issues ids with other numbers. Default: 0.
	Business int64 `yaml:"business" json:"business" env:"BUSINESS"`
	// MaxAhead is how far a burst of ids may run ahead of the clock. The range is 2 time units of
	// the layout to the larger of 1h and 2 time units. In mode redis-sequence, the namespace pins
	// it. Default: the larger of 1s and 2 time units.
	MaxAhead time.Duration `yaml:"max_ahead" json:"max_ahead" env:"MAX_AHEAD"`
	// Wait is how long a start waits for a free worker id, for a center that is down, or for the end
	// of a quarantine, and separately for Segments, in whole milliseconds. The context of the start
	// may end sooner. Default: 10s.
	Wait time.Duration `yaml:"wait" json:"wait" env:"WAIT"`
	// Holder describes the process that holds a worker id to people, in at most 255 bytes. Default:
	// program@host:pid.
	Holder string `yaml:"holder" json:"holder" env:"HOLDER"`
	// Lease configures the lease of a worker id. All modes except redis-sequence.
	Lease LeaseConfig `yaml:"lease" json:"lease" envPrefix:"LEASE_"`
	// Store describes the possible losses of the database or Redis behind the worker ids. All modes
	// except local.
	Store StoreConfig `yaml:"store" json:"store" envPrefix:"STORE_"`
	// Local configures how mode local finds worker ids. Default: a slot of this host.
	Local hostseq.Config `yaml:"local" json:"local" envPrefix:"LOCAL_"`
	// Sequence configures how mode redis-sequence counts ids in Redis.
	Sequence SequenceConfig `yaml:"sequence" json:"sequence" envPrefix:"SEQUENCE_"`
	// Segments are sequences of small numbers in addition to the ids: see type Numbers. They belong
	// to Namespace, unless they set one of their own, which several services may share. The
	// environment variables are SEGMENTS_0_NAME and so on. Default: none.
	Segments []numbers.SegmentConfig `yaml:"segments" json:"segments" envPrefix:"SEGMENTS_"`
	// Series are numbers that start over with each period and count separately for each tenant, with
	// or without gaps: see Numbers.Series. They have a namespace like Segments. They are kept in the
	// database, whatever the value of SegmentStore. Default: none.
	Series []numbers.SeriesConfig `yaml:"series" json:"series" envPrefix:"SERIES_"`
	// SegmentStore is where Segments are kept: auto, db, redis or db+redis. auto selects the
	// database or Redis, whichever client is given, and fails if both are. A numbers.Store or a center
	// on dbseq that the application provides replaces the database, and auto selects it. db+redis
	// keeps them in the database and issues the numbers of strict order through Redis. With redis,
	// create each name once manually: if Redis has no record of a name, it may have lost it. See
	// redisseq.Numbers. In another store, numbers start over: to move them, see docs/upgrade.md.
	// Default: auto.
	SegmentStore SegmentStore `yaml:"segment_store" json:"segment_store" env:"SEGMENT_STORE"`
}

// LeaseConfig configures the lease of a worker id, in all modes except redis-sequence.
type LeaseConfig struct {
	// TTL is how long a lease lasts without renewal. Ids continue for that long while the center is
	// unreachable, and a crashed process keeps its worker id for that long. 100ms to MaxTTL in whole
	// milliseconds, and at least 10 time units of the layout. Default: 30s.
	TTL time.Duration `yaml:"ttl" json:"ttl" env:"TTL"`
	// MaxTTL is the longest lease that a loss of records allows for. It also bounds how far ids run
	// ahead after a loss: see StoreConfig.ExactTimes. The namespace records the greatest MaxTTL of
	// any process, which then applies to all. If a process raises it, leases keep their previous
	// length for about the previous MaxTTL + Skew. TTL to 24h in whole milliseconds. Default: the
	// larger of TTL and 30s.
	MaxTTL time.Duration `yaml:"max_ttl" json:"max_ttl" env:"MAX_TTL"`
	// Renew is the cron schedule of renewals, with optional seconds, or a descriptor such as "@every
	// 10s". A renewal starts up to a thirtieth of TTL early, so that the replicas' renewals are
	// spread out. The lease is renewed after a third of TTL at the latest. Waiting uses the
	// monotonic clock, so neither a step of the wall clock nor a sparse schedule loses a lease.
	// Default: "@every 10s".
	Renew string `yaml:"renew" json:"renew" env:"RENEW"`
	// ShutdownOnLoss ends the fx application with exit code 1 when a lease is lost. It is an error
	// without fx. Default: false, which borrows another worker id.
	ShutdownOnLoss bool `yaml:"shutdown_on_loss" json:"shutdown_on_loss" env:"SHUTDOWN_ON_LOSS"`
}

// StoreConfig describes the possible losses of a database or Redis and the reaction to them, in
// all modes except local.
type StoreConfig struct {
	// Skew bounds how far the store's clock may have gone backward when the store loses records: how
	// far it is behind the latest time that it ever showed. The namespace records
	// the greatest Skew of any process, and mode redis-sequence pins it. The leases of a process with
	// less are longer by the difference, within max_ttl. Whole milliseconds, at most half of the
	// lease's TTL; in mode redis-sequence 1ms to 1h. Default: 2s, so set it if TTL is below 4s.
	Skew time.Duration `yaml:"skew" json:"skew" env:"SKEW"`
	// ExactTimes decides what happens when the store may have forgotten the holders of worker ids:
	// at the first start in a namespace, and after a wipe or a failover. If false, worker ids are
	// leased again after Skew and a quarter of a second, and ids carry times up to MaxTTL ahead
	// until the clock catches up. If true, none is leased for MaxTTL + Skew, and a start fails if
	// Wait is shorter. In mode redis-sequence, MaxAhead replaces MaxTTL, and a process without
	// ExactTimes ends the wait of all. Default: false.
	ExactTimes bool `yaml:"exact_times" json:"exact_times" env:"EXACT_TIMES"`
	// Durable declares that the store, and a Redis of Segments beside it, lose no acknowledged write.
	// If false, another incarnation, such as after a failover, starts a quarantine; if true, only
	// missing records do. A center that the application provides ignores it. Default: false.
	Durable bool `yaml:"durable" json:"durable" env:"DURABLE"`
	// WaitReplicas is the number of replicas of a Redis that must acknowledge a grant before it is
	// used. To protect against split brain, set it to the number of all replicas. If fewer
	// acknowledge within a sixth of the lease's TTL (at most 1s), the grant is not used, and ids
	// continue to the ceiling of the previous grant. See redisseq.WithWaitReplicas. Segments with
	// segment_store redis wait too. Those with db and db+redis do not, since the database keeps
	// them. Modes redis, redis-sequence and auto only. Default: 0.
	WaitReplicas int `yaml:"wait_replicas" json:"wait_replicas" env:"WAIT_REPLICAS"`
	// TablePrefix is the prefix of the table names in a database: 1 to 40 characters of a-z 0-9 _
	// that do not start with a digit. Services with different prefixes need no rights on one
	// another's tables. All members of a namespace need the same prefix. Default: snowlease_.
	TablePrefix string `yaml:"table_prefix" json:"table_prefix" env:"TABLE_PREFIX"`
}

// SequenceConfig configures how mode redis-sequence counts ids in Redis. Any number of
// processes share one worker id and, with Prefetch 1, one order.
type SequenceConfig struct {
	// Worker is the worker id that all ids of the namespace carry. It is below the Reserved ones. No
	// other source of ids with the same layout may use it. The namespace pins it. Default: 0.
	Worker int64 `yaml:"worker" json:"worker" env:"WORKER"`
	// Prefetch is the maximum number of ids that one call to Redis reserves, 1 to 1,048,576. If it
	// is 1, ids ascend across processes. Default: 4096.
	Prefetch int64 `yaml:"prefetch" json:"prefetch" env:"PREFETCH"`
	// MaxAge is how long a reserved id may wait to be issued, 10ms to 1h. It bounds how far
	// ids are out of order across processes. Default: 1s.
	MaxAge time.Duration `yaml:"max_age" json:"max_age" env:"MAX_AGE"`
}

// SegmentStore is where Config.Segments are kept.
type SegmentStore string

// The values of SegmentStore.
const (
	SegmentStoreAuto    SegmentStore = "auto"     // the database or Redis, whichever client is given
	SegmentStoreDB      SegmentStore = "db"       // the database
	SegmentStoreRedis   SegmentStore = "redis"    // Redis
	SegmentStoreDBRedis SegmentStore = "db+redis" // the database, with strict order through Redis
)

const defaultRenew = "@every 10s"

// WithDefaults returns c with defaults for its zero fields, except Preset, Layout, MaxAhead,
// Local and the fields of Segments, whose defaults depend on other fields or on the host.
func (c Config) WithDefaults() Config {
	c.Mode = cmp.Or(c.Mode, ModeAuto)
	c.Wait = cmp.Or(c.Wait, keeper.DefaultWait)
	c.Holder = cmp.Or(c.Holder, keeper.DefaultHolder())
	if c.Mode == ModeLocal && len(c.Segments)+len(c.Series) == 0 {
		c.Namespace = cmp.Or(c.Namespace, string(ModeLocal))
	}
	c.Lease = c.Lease.withDefaults()
	c.Store = c.Store.withDefaults()
	c.Sequence = c.Sequence.withDefaults()
	c.SegmentStore = cmp.Or(c.SegmentStore, SegmentStoreAuto)
	return c
}

func (c LeaseConfig) withDefaults() LeaseConfig {
	c.TTL = cmp.Or(c.TTL, lease.DefaultTTL)
	c.MaxTTL = cmp.Or(c.MaxTTL, max(c.TTL, lease.DefaultTTL))
	c.Renew = cmp.Or(c.Renew, defaultRenew)
	return c
}

func (c StoreConfig) withDefaults() StoreConfig {
	c.Skew = cmp.Or(c.Skew, lease.DefaultSkew)
	c.TablePrefix = cmp.Or(c.TablePrefix, "snowlease_")
	return c
}

func (c SequenceConfig) withDefaults() SequenceConfig {
	c.Prefetch = cmp.Or(c.Prefetch, counter.DefaultPrefetch)
	c.MaxAge = cmp.Or(c.MaxAge, counter.DefaultMaxAge)
	return c
}

// Validate applies the defaults and returns an error that joins all problems of c, or nil. Each
// names the key in YAML, the value and a remedy.
func (c Config) Validate() error {
	_, err := c.plan()
	return err
}

// Request returns the lease request that a worker of c would make, with a new Owner and without
// MaxLead and CallerTime. In mode redis-sequence, no center gets it. Errors: the same as
// Validate.
func (c Config) Request() (lease.Request, error) {
	p, err := c.plan()
	if err != nil {
		return lease.Request{}, err
	}
	var asked lease.Request
	err = snowlease.Init(context.Background(), recorder{request: &asked}, p.core)
	asked.CallerTime = 0
	return asked, err
}

// A recorder is a center that records the request of Init.
type recorder struct {
	lease.Center
	request *lease.Request
}

func (r recorder) Extras() lease.Extras {
	return lease.Extras{Init: func(_ context.Context, req lease.Request) error { *r.request = req; return nil }}
}
