package idworker

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/redisseq/counter"
	"github.com/snowlease/snowlease/segment"
	"github.com/snowlease/snowlease/snowflake"
)

// Mode says where worker ids come from.
type Mode string

// The modes.
const (
	ModeAuto  Mode = "auto"  // the one client that is there
	ModeDB    Mode = "db"    // a *gorm.DB
	ModeRedis Mode = "redis" // a redis.UniversalClient or *redis.Client
	ModeLocal Mode = "local" // Config.Local: no center; what it promises depends on the source
	// ModeRedisSequence counts ids in Redis, so that any number of processes share one
	// worker id and, with Prefetch 1, one order: see package redisseq/counter. There is no
	// lease; each id, or block of ids, costs a round trip.
	ModeRedisSequence Mode = "redis-sequence"
)

// Config is the configuration of a worker. Zero means the default. A
// time.Duration reads "30s" in YAML, koanf and mapstructure; in JSON it is a number
// of nanoseconds.
type Config struct {
	// Namespace is what shares one pool of worker ids: the replicas of one service.
	// 1 to 64 characters of A-Z a-z 0-9 . _ - ; required, but for mode local, where
	// it is "local" by default.
	Namespace string `yaml:"namespace" json:"namespace" koanf:"namespace" mapstructure:"namespace" env:"NAMESPACE"`
	// Mode is auto, db, redis, local or redis-sequence; auto never chooses the last two.
	// A lease.Center that the application provides comes before auto, db and redis,
	// whatever clients are there; local and redis-sequence take none. Default: auto.
	Mode Mode `yaml:"mode" json:"mode" koanf:"mode" mapstructure:"mode" env:"MODE"`
	// Preset names a layout: default, twitter, discord, wide, yitter or jssafe.
	// Default: default. Give Preset or Layout.
	Preset string `yaml:"preset" json:"preset" koanf:"preset" mapstructure:"preset" env:"PRESET"`
	// Layout is the layout in its parts.
	Layout snowflake.Layout `yaml:"layout" json:"layout" koanf:"layout" mapstructure:"layout" envPrefix:"LAYOUT_"`
	// Business is the business number that ids carry, where the layout has business
	// bits: 0 to 2^business_bits - 1. See IdWorker.For for several. Default: 0.
	Business int64 `yaml:"business" json:"business" koanf:"business" mapstructure:"business" env:"BUSINESS"`
	// Workers is the range of worker ids that this process may borrow, such as
	// "0-15". Default: all of the layout. Disjoint ranges let two centers serve one
	// stream of ids. Ids for times past are made only where the range ends with the
	// layout's last worker id.
	Workers string `yaml:"workers" json:"workers" koanf:"workers" mapstructure:"workers" env:"WORKERS"`
	// Reserved is how many of the greatest worker ids are never lent, for ids of times
	// past (NextIDAt), which mode db counts; the Namespace then has 48 characters at most.
	// The namespace pins what is left. Default: 0.
	Reserved int64 `yaml:"reserved" json:"reserved" koanf:"reserved" mapstructure:"reserved" env:"RESERVED"`
	// TTL is how long a lease lasts without renewal, and so how long ids go on
	// while the center is away, and how long a crashed process keeps its worker id.
	// 100ms to MaxTTL, at least 10 time units of the layout. Default: 30s.
	TTL time.Duration `yaml:"ttl" json:"ttl" koanf:"ttl" mapstructure:"ttl" env:"TTL"`
	// MaxTTL bounds the TTL of all members of the namespace, which pins it: see
	// ExactTimes. At most 24h. Default: the larger of TTL and 30s.
	MaxTTL time.Duration `yaml:"max_ttl" json:"max_ttl" koanf:"max_ttl" mapstructure:"max_ttl" env:"MAX_TTL"`
	// Skew is how far the center's clock may be behind the latest time that it ever
	// showed when it loses records. The namespace pins it. At most TTL/2. Default: 2s.
	Skew time.Duration `yaml:"skew" json:"skew" koanf:"skew" mapstructure:"skew" env:"SKEW"`
	// Renew is the cron schedule of renewals, seconds optional, or a descriptor.
	// Each of its times is one renewal, up to a thirtieth of TTL early so that replicas
	// spread. The lease is renewed after a third of TTL in any case; a start with a
	// schedule that is sparser logs a warning. cron/v3 only plans: the keeper waits by
	// the monotonic clock, so that a step of the wall clock, or a sparse schedule, loses
	// no lease. Default: "@every 10s".
	Renew string `yaml:"renew" json:"renew" koanf:"renew" mapstructure:"renew" env:"RENEW"`
	// Wait bounds how long a start waits for a free worker id, a center that is
	// down or a quarantine, within the start's context. Default: 10s.
	Wait time.Duration `yaml:"wait" json:"wait" koanf:"wait" mapstructure:"wait" env:"WAIT"`
	// ExactTimes says what happens where the center may have forgotten who has which
	// worker id: at the first start in a namespace, and after a wipe or a failover. With
	// false, new worker ids are lent after Skew and a quarter of a second, and ids carry
	// times up to MaxTTL ahead of the clock until that has caught up. With true, none is
	// lent for MaxTTL + Skew, and a start that Wait does not outlast fails. In mode
	// redis-sequence MaxAhead is in the place of MaxTTL. Default: false.
	ExactTimes bool `yaml:"exact_times" json:"exact_times" koanf:"exact_times" mapstructure:"exact_times" env:"EXACT_TIMES"`
	// OnLost says what the loss of a lease means: continue borrows another worker
	// id; shutdown ends the fx application too. Default: continue.
	OnLost string `yaml:"on_lost" json:"on_lost" koanf:"on_lost" mapstructure:"on_lost" env:"ON_LOST"`
	// Quarantine says whether the center compares the store's incarnation:
	// on-change, or never for a store that loses no acknowledged write. Default:
	// on-change.
	Quarantine string `yaml:"quarantine" json:"quarantine" koanf:"quarantine" mapstructure:"quarantine" env:"QUARANTINE"`
	// WaitReplicas is how many replicas of a Redis must have a grant before it is used,
	// for a failover to one that is not told of the old master's last grants (split
	// brain): all of them. Fewer that answer: no new grant, and ids go on to the
	// ceiling. See redisseq.WithWaitReplicas. Modes redis, redis-sequence and auto
	// only. Segments kept in a Redis wait as well; those of db and db+redis do not,
	// since the database keeps them. Default: 0.
	WaitReplicas int `yaml:"wait_replicas" json:"wait_replicas" koanf:"wait_replicas" mapstructure:"wait_replicas" env:"WAIT_REPLICAS"`
	// MaxAhead is how far a burst of ids may run ahead of the clock, 2 time units
	// to 1h. In mode redis-sequence the namespace pins it. Default: 1s, or 2 time units
	// where that is more.
	MaxAhead time.Duration `yaml:"max_ahead" json:"max_ahead" koanf:"max_ahead" mapstructure:"max_ahead" env:"MAX_AHEAD"`
	// Holder says who has a worker id, for people to read, at most 255 bytes.
	// Default: program@host:pid.
	Holder string `yaml:"holder" json:"holder" koanf:"holder" mapstructure:"holder" env:"HOLDER"`
	// Worker is the worker id of mode local by hand: short for Local.Worker; by default
	// Local.Sources find one. In mode redis-sequence it is the number that all ids of
	// the namespace carry, 0 by default. No other mode takes it.
	Worker *int64 `yaml:"worker" json:"worker" koanf:"worker" mapstructure:"worker" env:"WORKER"`
	// Local says where mode local finds worker ids. Default: Worker if that is set,
	// else a slot of this host.
	Local hostseq.Config `yaml:"local" json:"local" koanf:"local" mapstructure:"local" envPrefix:"LOCAL_"`
	// Prefetch is the most ids that one call of Redis reserves ahead, 1 to 1,048,576; 1
	// makes ids rise across processes. Mode redis-sequence only. Default: 4096.
	Prefetch int64 `yaml:"prefetch" json:"prefetch" koanf:"prefetch" mapstructure:"prefetch" env:"PREFETCH"`
	// MaxAge is how long an id may lie reserved before it is issued, which bounds how far
	// ids are out of order across processes, 10ms to 1h. Mode redis-sequence only.
	// Default: 1s.
	MaxAge time.Duration `yaml:"max_age" json:"max_age" koanf:"max_age" mapstructure:"max_age" env:"MAX_AGE"`
	// Segments are sequences of small numbers beside the ids: see NewSegments. In the
	// environment: SEGMENTS_0_NAME and so on. Default: none.
	Segments []segment.Config `yaml:"segments" json:"segments" koanf:"segments" mapstructure:"segments" envPrefix:"SEGMENTS_"`
	// SegmentStore says where Segments are kept: auto (the one client that is there, the
	// database if both are), db, redis, or db+redis: in the database, with a Redis
	// before it that gives the numbers of strict order. A Redis creates no names by
	// itself, since it may have lost them: see package redisseq/segments. Default: auto.
	SegmentStore string `yaml:"segment_store" json:"segment_store" koanf:"segment_store" mapstructure:"segment_store" env:"SEGMENT_STORE"`
}

// Values of Config.OnLost, Config.Quarantine and Config.SegmentStore, and defaults.
const (
	OnLostContinue = "continue"
	OnLostShutdown = "shutdown"

	QuarantineOnChange = "on-change"
	QuarantineNever    = "never"

	SegmentStoreAuto    = "auto"
	SegmentStoreDB      = "db"
	SegmentStoreRedis   = "redis"
	SegmentStoreDBRedis = "db+redis"

	DefaultRenew = "@every 10s"
)

// WithDefaults returns c with its zero fields filled in, but for Layout, whose
// defaults depend on Preset.
func (c Config) WithDefaults() Config {
	c.Mode = cmp.Or(c.Mode, ModeAuto)
	if len(c.Local.Sources) == 0 {
		c.Local.Sources = nil // [] in a file
	}
	if len(c.Segments) == 0 {
		c.Segments = nil
	}
	c.SegmentStore = cmp.Or(c.SegmentStore, SegmentStoreAuto)
	if c.Mode == ModeLocal {
		c.Namespace = cmp.Or(c.Namespace, string(ModeLocal))
		c.Local.Worker = cmp.Or(c.Local.Worker, c.Worker)
	}
	c.TTL = cmp.Or(c.TTL, lease.DefaultTTL)
	c.MaxTTL = cmp.Or(c.MaxTTL, max(c.TTL, lease.DefaultTTL))
	c.Skew = cmp.Or(c.Skew, lease.DefaultSkew)
	c.Renew = cmp.Or(c.Renew, DefaultRenew)
	c.Wait = cmp.Or(c.Wait, keeper.DefaultWait)
	c.OnLost = cmp.Or(c.OnLost, OnLostContinue)
	c.Quarantine = cmp.Or(c.Quarantine, QuarantineOnChange)
	c.Holder = cmp.Or(c.Holder, holder())
	return c
}

func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	h := fmt.Sprintf("%s@%s:%d", filepath.Base(os.Args[0]), host, os.Getpid())
	return strings.ToValidUTF8(h[:min(len(h), lease.MaxHolder)], "")
}

// A plan is what a valid Config comes to.
type plan struct {
	Config
	layout   snowflake.Layout
	request  lease.Request
	schedule cron.Schedule
	// renewGiven: Config.Renew is set. The default is for the default TTL, and sparser
	// than shorter ones need, which is nobody's fault.
	renewGiven  bool
	options     []snowflake.Option
	sequence    counter.Config // of mode redis-sequence
	fixed       bool           // the worker id is Worker, and nothing is asked
	hasReserved bool           // the reserved worker ids are among Workers
}

// Validate reports every fault of c, defaults filled in, in one error, or nil.
func (c Config) Validate() error {
	_, err := c.plan()
	return err
}

// Request returns what c asks a center for. Owner is new in each.
func (c Config) Request() (lease.Request, error) {
	p, err := c.plan()
	return p.request, err
}

func (c Config) plan() (plan, error) {
	given := c.Renew != ""
	c = c.WithDefaults()
	p := plan{Config: c, renewGiven: given}
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("idworker: config: "+format, args...))
	}
	oneOf := func(key, value string, allowed ...string) {
		for _, a := range allowed {
			if value == a {
				return
			}
		}
		fault("%s %q is unknown: choose %s", key, value, strings.Join(allowed, ", "))
	}

	byHand, counted := c.Mode == ModeLocal, c.Mode == ModeRedisSequence
	oneOf("mode", string(c.Mode), string(ModeAuto), string(ModeDB), string(ModeRedis), string(ModeLocal), string(ModeRedisSequence))
	oneOf("on_lost", c.OnLost, OnLostContinue, OnLostShutdown)
	oneOf("quarantine", c.Quarantine, QuarantineOnChange, QuarantineNever)

	switch err := lease.CheckNamespace(c.Namespace); {
	case c.Namespace == "":
		fault(`namespace is empty: name what shares one pool of worker ids, such as "orders"; all replicas of one service have the same`)
	case err != nil:
		fault("namespace %q: give 1 to %d characters of A-Z a-z 0-9 . _ -", c.Namespace, lease.MaxNamespace)
	}

	layout, err := c.layout()
	if err == nil {
		err = layout.Validate()
	}
	if err == nil {
		err = layout.CheckTime(time.Now())
	}
	if err != nil {
		fault("layout: %w", err)
		layout = snowflake.Layout{}.WithDefaults() // to go on looking for faults
	}
	p.layout = layout

	if n := int64(1) << layout.BusinessBits; c.Business < 0 || c.Business >= n {
		fault("business %d is not 0 to %d, which the layout's %d business bits hold: give another, or more layout.business_bits", c.Business, n-1, layout.BusinessBits)
	}
	pool := layout.Workers() - c.Reserved
	if c.Reserved < 0 || pool < 1 {
		fault("reserved %d is not 0 to %d, all worker ids of the layout but one", c.Reserved, layout.Workers()-1)
		pool = layout.Workers()
	}
	first, last, err := workers(c.Workers, pool, layout.Workers())
	if err != nil {
		fault("workers %q: %w", c.Workers, err)
	}
	p.hasReserved = last >= pool
	last = min(last, pool-1)
	if c.TTL < lease.MinTTL || c.TTL < 10*layout.TimeUnit {
		fault("ttl %v is too short: give at least %v and 10 time units of the layout (%v)", c.TTL, lease.MinTTL, 10*layout.TimeUnit)
	}
	if c.MaxTTL < c.TTL || c.MaxTTL > 24*time.Hour {
		fault("max_ttl %v is not from ttl (%v) to 24h: raise it for all members of the namespace", c.MaxTTL, c.TTL)
	}
	if !counted && (c.Skew < 0 || c.Skew > c.TTL/2) {
		fault("skew %v is not from 0 to half of ttl (%v): lower it, or raise ttl", c.Skew, c.TTL/2)
	}
	for _, f := range []struct {
		key string
		d   time.Duration
	}{{"ttl", c.TTL}, {"max_ttl", c.MaxTTL}, {"skew", c.Skew}} {
		if f.d%time.Millisecond != 0 {
			fault("%s %v is finer than a millisecond: give whole milliseconds", f.key, f.d)
		}
	}
	switch {
	case c.WaitReplicas < 0:
		fault("wait_replicas %d is negative: give the number of replicas of the Redis, or 0 to wait for none", c.WaitReplicas)
	case c.WaitReplicas > 0 && c.Mode != ModeRedis && c.Mode != ModeAuto && !counted:
		fault("wait_replicas %d with mode %s: %s", c.WaitReplicas, c.Mode, waitReplicasElsewhere)
	}
	if p.schedule, err = parseSchedule(c.Renew); err != nil {
		fault("renew %q is not a cron schedule (%w): give \"@every 10s\" or \"*/10 * * * * *\", seconds first and optional", c.Renew, err)
	}
	if c.MaxAhead != 0 {
		if c.MaxAhead < 2*layout.TimeUnit || c.MaxAhead > time.Hour {
			fault("max_ahead %v is not from 2 time units of the layout (%v) to 1h", c.MaxAhead, 2*layout.TimeUnit)
		} else {
			p.options = append(p.options, snowflake.WithMaxAhead(c.MaxAhead))
		}
	}
	if len(c.Holder) > lease.MaxHolder {
		fault("holder %q has %d bytes: give at most %d", c.Holder, len(c.Holder), lease.MaxHolder)
	}
	switch {
	case byHand && c.Worker != nil && *c.Worker != *c.Local.Worker:
		fault("worker %d and local.worker %d differ: give one of them", *c.Worker, *c.Local.Worker)
	case byHand:
		if err := c.Local.Validate(layout); err != nil {
			fault("local: %w", err)
		}
	case !reflect.ValueOf(c.Local).IsZero():
		fault("local is set, but mode %s finds worker ids by a center: leave it out, or set mode local", c.Mode)
	case counted:
		p.sequence = c.sequence(layout)
		if err := p.sequence.Validate(); c.Namespace != "" && err != nil {
			fault("mode %s: %w", c.Mode, err)
		}
		if p.sequence.Worker >= pool && c.Reserved > 0 {
			fault("worker %d is one of the reserved %d greatest: give 0 to %d", p.sequence.Worker, c.Reserved, pool-1)
		}
		if c.Workers != "" {
			fault("workers %q is a range to borrow from, but in mode %s all ids carry one number: leave it out, or give worker", c.Workers, c.Mode)
		}
		if c.OnLost == OnLostShutdown {
			fault("on_lost %q has no meaning in mode %s, where there is no lease to lose: leave it out and watch Healthy", c.OnLost, c.Mode)
		}
	case c.Worker != nil:
		fault("worker %d is set by hand, but mode %s borrows one: leave it out, or give the range of worker ids by workers", *c.Worker, c.Mode)
	}
	if !counted && (c.Prefetch != 0 || c.MaxAge != 0) {
		fault("prefetch %d, max_age %v: mode %s reserves no ids ahead: leave them out, or set mode %s", c.Prefetch, c.MaxAge, c.Mode, ModeRedisSequence)
	}
	errs = append(errs, c.checkSegments()...)
	if err := errors.Join(errs...); err != nil {
		return plan{}, err
	}
	p.request = lease.Request{
		Namespace: c.Namespace, Layout: layout.String(), Holder: c.Holder, Owner: lease.NewOwner(),
		Pool: pool, First: first, Last: last, TTL: c.TTL, MaxTTL: c.MaxTTL, Skew: c.Skew,
	}
	return p, nil
}

// sequence is what mode redis-sequence makes of c.
func (c Config) sequence(layout snowflake.Layout) counter.Config {
	s := counter.Config{Namespace: c.Namespace, Layout: layout, MaxAhead: c.MaxAhead, Skew: c.Skew, Prefetch: c.Prefetch, MaxAge: c.MaxAge, ExactTimes: c.ExactTimes}
	if c.Worker != nil {
		s.Worker = *c.Worker
	}
	return s.WithDefaults()
}

// replicaTime is how long a Redis is waited for that waits for its replicas: half of
// what a renewal may take.
func (c Config) replicaTime() time.Duration { return min(time.Second, c.TTL/6) }

const waitReplicasElsewhere = "only a Redis is waited for this way: leave it out; a database does it by itself, MySQL and MariaDB by semi-synchronous replication, PostgreSQL by synchronous_standby_names with synchronous_commit"

// layout returns the layout by Preset or Layout.
func (c Config) layout() (snowflake.Layout, error) {
	if c.Preset == "" {
		return c.Layout.WithDefaults(), nil
	}
	if c.Layout != (snowflake.Layout{}) {
		return snowflake.Layout{}, fmt.Errorf("preset %q and layout are both set: give one of them", c.Preset)
	}
	return snowflake.Preset(c.Preset)
}

// workers parses a range such as "0-15"; "" is all. It ends below pool, or with the last
// of the reserved worker ids, which are pool to all-1.
func workers(s string, pool, all int64) (first, last int64, err error) {
	if s == "" {
		return 0, all - 1, nil
	}
	a, b, ok := strings.Cut(s, "-")
	if ok {
		first, err = strconv.ParseInt(strings.TrimSpace(a), 10, 64)
		if err == nil {
			last, err = strconv.ParseInt(strings.TrimSpace(b), 10, 64)
		}
	}
	switch {
	case !ok || err != nil || first < 0 || last < first || first >= pool || last >= all:
		return 0, 0, fmt.Errorf("give the first and the last worker id, both of 0 to %d, such as \"0-%d\"", pool-1, (pool-1)/2)
	case last >= pool && last < all-1:
		return 0, 0, fmt.Errorf("it ends among the reserved worker ids, %d to %d: let it end at %d to leave them out, or at %d to make ids for times past here", pool, all-1, pool-1, all-1)
	}
	return first, last, nil
}

func parseSchedule(spec string) (cron.Schedule, error) {
	// The parser panics at a time zone that nothing follows.
	if (strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ=")) && !strings.Contains(spec, " ") {
		return nil, errors.New("no fields follow the time zone")
	}
	return cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(spec)
}

// sparse reports whether s leaves more than limit between two of its next thousand times
// after t.
func sparse(s cron.Schedule, t time.Time, limit time.Duration) bool {
	for range 1000 {
		next := s.Next(t)
		if next.IsZero() || next.Sub(t) > limit { // zero: never, as on February 30
			return true
		}
		t = next
	}
	return false
}
