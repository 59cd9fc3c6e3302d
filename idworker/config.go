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

// Mode is where worker ids come from.
type Mode string

// The modes.
const (
	ModeAuto  Mode = "auto"  // the database or Redis, whichever client is given
	ModeDB    Mode = "db"    // a *gorm.DB, or a center of dbseq.Open
	ModeRedis Mode = "redis" // a redis.UniversalClient
	ModeLocal Mode = "local" // Config.Local: no center; how unique ids are depends on the source
	// ModeRedisSequence counts ids in Redis: see Config.Sequence. There is no lease. Each id,
	// or block of ids, costs a round trip. It is for ids that must ascend across processes,
	// and for more processes than worker ids. What can repeat ids is in
	// docs/design/protocol.md#mode-redis-sequence in the repository.
	ModeRedisSequence Mode = "redis-sequence"
)

// Config configures a worker. A zero field means its default. A key that the mode does not
// use is an error, unless it has its default value. The namespace pins some values: all its
// members must agree on them, and the center refuses a member that does not. A
// time.Duration is written "30s" in YAML, and is a number of nanoseconds in JSON.
type Config struct {
	// Namespace names the service whose replicas share one pool of worker ids: 1 to 64
	// characters of A-Z a-z 0-9 . _ - . Required, except in mode local without Segments and
	// Series, where the default is "local".
	Namespace string `yaml:"namespace" json:"namespace" env:"NAMESPACE"`
	// Mode is auto, db, redis, local or redis-sequence. auto takes the database or Redis,
	// whichever client is given, and fails if both are. A lease.Center that the application
	// provides takes precedence over auto, db and redis. Modes local and redis-sequence
	// ignore it. Default: auto.
	Mode Mode `yaml:"mode" json:"mode" env:"MODE"`
	// Preset names a layout: default, twitter, discord, wide, yitter or jssafe. Set either
	// Preset or Layout. Default: default.
	Preset string `yaml:"preset" json:"preset" env:"PRESET"`
	// Layout describes the layout field by field.
	Layout snowflake.Layout `yaml:"layout" json:"layout" envPrefix:"LAYOUT_"`
	// Workers is the range of worker ids that this process may borrow, such as
	// "0-15". Disjoint ranges let two centers serve one stream of ids. Backdated ids
	// need a range that ends with the layout's last worker id. Not in mode redis-sequence.
	// Default: all worker ids of the layout.
	Workers snowlease.Workers `yaml:"workers" json:"workers" env:"WORKERS"`
	// Reserved is how many of the highest worker ids are kept for backdated ids
	// (package history) and never lent. Those need a database as the center. The namespace
	// pins the number of worker ids that remain.
	// Default: 0.
	Reserved int64 `yaml:"reserved" json:"reserved" env:"RESERVED"`
	// Business is the business number that ids carry if the layout has business bits: 0 to
	// 2^business_bits - 1. IdWorker.For issues ids with other numbers. Default: 0.
	Business int64 `yaml:"business" json:"business" env:"BUSINESS"`
	// MaxAhead is how far a burst of ids may run ahead of the clock, 2 time units of the
	// layout to 1h, or to 2 time units if that is longer. In mode redis-sequence, the
	// namespace pins it. Default: the larger of 1s and 2 time units.
	MaxAhead time.Duration `yaml:"max_ahead" json:"max_ahead" env:"MAX_AHEAD"`
	// Wait is how long a start waits for a free worker id, for a center that is down or
	// for the end of a quarantine, and how long it waits for Segments, in whole
	// milliseconds. The start's context may end sooner. Default: 10s.
	Wait time.Duration `yaml:"wait" json:"wait" env:"WAIT"`
	// Holder tells people which process has a worker id, at most 255 bytes. Default:
	// program@host:pid.
	Holder string `yaml:"holder" json:"holder" env:"HOLDER"`
	// Lease configures the lease of a worker id. All modes except redis-sequence.
	Lease LeaseConfig `yaml:"lease" json:"lease" envPrefix:"LEASE_"`
	// Store describes what the database or Redis behind the worker ids may forget. All
	// modes except local.
	Store StoreConfig `yaml:"store" json:"store" envPrefix:"STORE_"`
	// Local says where mode local finds worker ids. Default: a slot of this host.
	Local hostseq.Config `yaml:"local" json:"local" envPrefix:"LOCAL_"`
	// Sequence configures how mode redis-sequence counts ids in Redis.
	Sequence SequenceConfig `yaml:"sequence" json:"sequence" envPrefix:"SEQUENCE_"`
	// Segments are sequences of small numbers in addition to the ids: see type Numbers. They
	// belong to Namespace, unless they have one of their own, which services then share. The
	// environment variables are SEGMENTS_0_NAME and so on. Default: none.
	Segments []numbers.SegmentConfig `yaml:"segments" json:"segments" envPrefix:"SEGMENTS_"`
	// Series are numbers that begin anew with each period and count for each tenant, with or
	// without gaps: see Numbers.Series. They have a namespace as Segments do, and are kept in
	// the database, whatever SegmentStore says. Default: none.
	Series []numbers.SeriesConfig `yaml:"series" json:"series" envPrefix:"SERIES_"`
	// SegmentStore is where Segments are kept: auto, db, redis or db+redis. auto takes the
	// database or Redis, whichever client is given, and fails if both are. A numbers.Store
	// that the application provides takes the place of the database, and auto takes it.
	// db+redis keeps them in the database and issues the numbers of strict order through
	// Redis. With redis, create each name once by hand: Redis may have lost a name that it
	// does not know. See redisseq.Numbers. In another store numbers begin anew: to
	// move them, see docs/upgrade.md. Default: auto.
	SegmentStore SegmentStore `yaml:"segment_store" json:"segment_store" env:"SEGMENT_STORE"`
}

// LeaseConfig configures the lease of a worker id, in all modes except redis-sequence.
type LeaseConfig struct {
	// TTL is how long a lease lasts without renewal: how long ids continue while the center
	// is unreachable, and how long a crashed process keeps its worker id. 100ms to MaxTTL in
	// whole milliseconds, and at least 10 time units of the layout. Default: 30s.
	TTL time.Duration `yaml:"ttl" json:"ttl" env:"TTL"`
	// MaxTTL is the longest lease that a loss of records allows for, and bounds how far ids run
	// ahead after one: see StoreConfig.ExactTimes. The namespace has the greatest of any process on record,
	// and all work by that. A process that raises it has leases of the former length at first,
	// for about the former MaxTTL + Skew. TTL to 24h in whole milliseconds. Default: the larger
	// of TTL and 30s.
	MaxTTL time.Duration `yaml:"max_ttl" json:"max_ttl" env:"MAX_TTL"`
	// Renew is the cron schedule of renewals, with optional seconds, or a descriptor such as
	// "@every 10s". A renewal comes up to a thirtieth of TTL early, so that replicas spread.
	// The lease is renewed after a third of TTL at the latest. Waiting uses the monotonic
	// clock, so neither a step of the wall clock nor a sparse schedule loses a lease.
	// Default: "@every 10s".
	Renew string `yaml:"renew" json:"renew" env:"RENEW"`
	// ShutdownOnLoss ends the fx application with exit code 1 when a lease is lost. Without
	// fx, it is an error. Default: false, which borrows another worker id.
	ShutdownOnLoss bool `yaml:"shutdown_on_loss" json:"shutdown_on_loss" env:"SHUTDOWN_ON_LOSS"`
}

// StoreConfig describes what a database or Redis may forget and how to react, in all modes
// except local.
type StoreConfig struct {
	// Skew is how far behind the latest time it ever showed the store's clock may be when
	// the store loses records. The namespace pins it. Whole milliseconds, at most half of
	// the lease's TTL; in mode redis-sequence 1ms to 1h. Default: 2s, so set it if TTL is
	// below 4s.
	Skew time.Duration `yaml:"skew" json:"skew" env:"SKEW"`
	// ExactTimes chooses what happens when the store may have forgotten who holds which
	// worker id: at the first start in a namespace, and after a wipe or a failover. If
	// false, worker ids are lent again after Skew and a quarter of a second, and ids carry
	// times up to MaxTTL ahead until the clock catches up. If true, none is lent for
	// MaxTTL + Skew, and a start fails if Wait is shorter. In mode redis-sequence, MaxAhead
	// replaces MaxTTL. Default: false.
	ExactTimes bool `yaml:"exact_times" json:"exact_times" env:"EXACT_TIMES"`
	// Durable declares that the store loses no acknowledged write. If false, another
	// incarnation of the store, such as after a failover, starts a quarantine; if true, only
	// missing records do. Mode local uses it for Segments kept in Redis. A center that you
	// provide ignores it: see dbseq.WithDurable. Default: false.
	Durable bool `yaml:"durable" json:"durable" env:"DURABLE"`
	// WaitReplicas is how many replicas of a Redis must acknowledge a grant before it is
	// used. Set it to all of them against split brain. If fewer acknowledge within a sixth
	// of the lease's TTL (at most 1s), the grant is not used, and ids continue to the
	// ceiling of the last one. See redisseq.WithWaitReplicas.
	// Segments with segment_store redis wait too; those of db and db+redis do not, since the
	// database keeps them. Modes redis, redis-sequence and auto only. Default: 0.
	WaitReplicas int `yaml:"wait_replicas" json:"wait_replicas" env:"WAIT_REPLICAS"`
	// TablePrefix is what the names of the tables in a database start with, 1 to 40
	// characters of a-z 0-9 _ that start with no digit. Services with prefixes of their own
	// need no rights on one another's tables. All members of a namespace need the same one.
	// Default: snowlease_.
	TablePrefix string `yaml:"table_prefix" json:"table_prefix" env:"TABLE_PREFIX"`
}

// SequenceConfig configures how mode redis-sequence counts ids in Redis. Any number of
// processes share one worker id and, with Prefetch 1, one order.
type SequenceConfig struct {
	// Worker is the worker id that all ids of the namespace carry, below those that Reserved
	// keeps. No other source of ids with the same layout may use it. The namespace pins it.
	// Default: 0.
	Worker int64 `yaml:"worker" json:"worker" env:"WORKER"`
	// Prefetch is the most ids that one call to Redis reserves, 1 to 1,048,576. With 1, ids
	// ascend across processes. Default: 4096.
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

// WithDefaults returns c with its zero fields set to their defaults, except Preset, Layout,
// MaxAhead, Local and the fields of Segments, whose defaults depend on others or on the host.
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

// Validate checks c with its defaults filled in. The error joins one for each fault, with the
// key in YAML, the value and what to do.
func (c Config) Validate() error {
	_, err := c.plan()
	return err
}

// Request returns the request that c makes to a center, with a new Owner and without Ahead
// and Local. In mode redis-sequence, no center gets it. Errors: those of Validate.
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

// recorder is a center that records the request of Init.
type recorder struct {
	lease.Center
	request *lease.Request
}

func (r recorder) Extras() lease.Extras {
	return lease.Extras{Init: func(_ context.Context, req lease.Request) error { *r.request = req; return nil }}
}
