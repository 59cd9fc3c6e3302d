package idworker

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/settings"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A plan is a valid Config with all values derived from it.
type plan struct {
	Config
	core        snowlease.Config // without OnLost and Logger
	layout      snowflake.Layout
	schedule    cron.Schedule
	sequence    counter.Config // for mode redis-sequence
	hasReserved bool           // the reserved worker ids are among Workers
}

// keyOf returns the YAML path of a field of snowlease.Config.
func keyOf(field string) string {
	key, ok := map[string]string{
		"Layout.BusinessBits": "layout.business_bits", "MaxAhead": "max_ahead", "TTL": "lease.ttl", "MaxTTL": "lease.max_ttl",
		"Skew": "store.skew", "ExactTimes": "store.exact_times",
	}[field]
	if !ok {
		return strings.ToLower(field)
	}
	return key
}

// plan applies the defaults of c and checks each part. It replaces an invalid part by its
// default, so that it also finds the problems of other parts.
func (c Config) plan() (plan, error) {
	p := plan{Config: c.WithDefaults()}
	f := &fault.List{In: "snowlease: config"}
	check := settings.Check{List: f, Name: keyOf}
	fault.OneOf(f, "mode", p.Mode, ModeAuto, ModeDB, ModeRedis, ModeLocal, ModeRedisSequence)
	check.Holder(p.Holder)
	p.planLayout(check)
	pool := p.planWorkers(check)
	p.planLease(check)
	p.planStore(check)
	p.planLocal(f)
	p.planSequence(f, pool)
	p.planSegments(f)
	if err := f.Err(); err != nil {
		return plan{}, err
	}
	p.core = snowlease.Config{
		Namespace: p.Namespace, Layout: p.layout, Workers: p.Workers, Reserved: p.Reserved,
		Business: p.Business, MaxAhead: p.MaxAhead, Wait: p.Wait, Holder: p.Holder, ExactTimes: p.Store.ExactTimes,
	}
	if p.Mode != ModeRedisSequence {
		p.core.TTL, p.core.MaxTTL, p.core.Skew, p.core.Schedule = p.Lease.TTL, p.Lease.MaxTTL, p.Store.Skew, p.schedule
	}
	if p.Mode == ModeLocal { // skew cannot be set, so keep the default valid for a short TTL
		p.core.Skew = min(p.Store.Skew, p.Lease.TTL/2).Truncate(time.Millisecond)
	}
	return p, nil
}

// unused reports a block that is set although the mode does not use it. Default values are
// allowed, because a file may name every key.
func unused[T comparable](p *plan, f *fault.List, block string, values, defaults T, why, modes string) {
	f.Check(block, nil, values != defaults, "is set, but mode %s %s: leave it out, or set mode %s", p.Mode, why, modes)
}

// planLayout chooses the layout and checks business and max_ahead, whose ranges depend on the
// layout.
func (p *plan) planLayout(check settings.Check) {
	named, layout := check, p.Layout
	switch {
	case p.Preset == "":
	case layout != (snowflake.Layout{}):
		check.Check("layout", nil, true, "and preset %q are both set: give one of them", p.Preset)
	default:
		var err error
		named.Name = func(string) string { return "preset" }
		layout, err = snowflake.Preset(p.Preset)
		check.Take(err, named.Name)
	}
	p.layout = named.Layout(layout)
	check.Business(p.Business, p.layout)
	p.MaxAhead = check.MaxAhead(p.MaxAhead, p.layout)
}

// planWorkers returns the size of the pool.
func (p *plan) planWorkers(check settings.Check) (pool int64) {
	pool = check.Reserved(p.Reserved, p.layout)
	if p.Mode == ModeRedisSequence {
		check.Check("workers", p.Workers, p.Workers != "", "is set, but in mode %s all ids carry one worker id: leave it out, or set sequence.worker", p.Mode)
		return pool
	}
	_, last := check.Workers(string(p.Workers), pool, p.layout)
	p.hasReserved = last >= pool
	return pool
}

func (p *plan) planLease(check settings.Check) {
	if p.Mode == ModeRedisSequence {
		unused(p, check.List, "lease", p.Lease, LeaseConfig{}.withDefaults(), "lends no worker ids", "auto, db, redis or local")
		return
	}
	l := p.Lease
	p.Lease.TTL = check.TTL(l.TTL, l.MaxTTL, p.layout)
	var err error
	p.schedule, err = parseSchedule(l.Renew)
	check.Check("lease.renew", l.Renew, err != nil, `is not a cron schedule (%v): give "@every 10s", or fields such as "*/10 * * * * *" (the seconds are optional)`, err)
}

var tablePrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

func (p *plan) planStore(check settings.Check) {
	f, s := check.List, p.Store
	f.Check("store.table_prefix", s.TablePrefix, !tablePrefix.MatchString(s.TablePrefix), "is not 1 to 40 characters of a-z 0-9 _ that start with no digit: give one such as orders_")
	f.Check("store.wait_replicas", s.WaitReplicas, s.WaitReplicas < 0, "is negative: give the number of replicas that the Redis has, or 0 to wait for none")
	f.Check("store.wait_replicas", s.WaitReplicas, s.WaitReplicas > 0 && (p.Mode == ModeDB || p.Mode == ModeLocal), "is set, but mode %s waits for no replicas: %s", p.Mode, waitReplicasElsewhere)
	switch p.Mode {
	case ModeLocal:
		defaults := StoreConfig{WaitReplicas: s.WaitReplicas}.withDefaults() // reported above
		if len(p.Segments) > 0 {
			defaults.Durable = s.Durable // segments on Redis use it
		}
		if len(p.Segments)+len(p.Series) > 0 {
			defaults.TablePrefix = s.TablePrefix
		}
		unused(p, f, "store", s, defaults, "has no store", "auto, db, redis or redis-sequence")
	case ModeRedisSequence:
		check.Millis("store.skew", s.Skew)
		f.Check("store.skew", s.Skew, s.Skew < time.Millisecond || s.Skew > time.Hour, "is not 1ms to 1h")
	default:
		check.Skew(s.Skew, p.Lease.TTL)
	}
}

const waitReplicasElsewhere = "leave it out; configure the database to wait for its replicas: semi-synchronous replication in MySQL and MariaDB, synchronous_standby_names with synchronous_commit in PostgreSQL"

func (p *plan) planLocal(f *fault.List) {
	if p.Mode != ModeLocal {
		local, defaults := p.Local, hostseq.Config{Source: hostseq.Lock, MaxBehind: hostseq.DefaultMaxBehind}
		local.Source, local.MaxBehind = cmp.Or(local.Source, defaults.Source), cmp.Or(local.MaxBehind, defaults.MaxBehind)
		unused(p, f, "local", local, defaults, "gets worker ids from a center", "local")
		return
	}
	f.Take(p.Local.Validate(p.layout), func(key string) string { return strings.TrimSuffix("local."+key, ".") })
}

// planSequence checks the sequence block. Worker ids from pool upward are reserved.
func (p *plan) planSequence(f *fault.List, pool int64) {
	if p.Mode != ModeRedisSequence {
		unused(p, f, "sequence", p.Sequence, SequenceConfig{}.withDefaults(), "counts no ids in Redis", "redis-sequence")
		return
	}
	p.sequence = counter.Config{
		Namespace: p.Namespace, Layout: p.layout, Worker: p.Sequence.Worker, Prefetch: p.Sequence.Prefetch, MaxAge: p.Sequence.MaxAge,
		MaxAhead: p.MaxAhead, Skew: p.Store.Skew, ExactTimes: p.Store.ExactTimes,
	}
	s, workers := p.Sequence, p.layout.Workers()
	f.Check("sequence.worker", s.Worker, s.Worker < 0 || s.Worker >= workers, "is not 0 to %d, which the layout's %d worker bits hold", workers-1, p.layout.WorkerBits)
	f.Check("sequence.worker", s.Worker, s.Worker >= pool && s.Worker < workers, "is one of the %d reserved: give 0 to %d", p.Reserved, pool-1)
	f.Check("sequence.prefetch", s.Prefetch, s.Prefetch < 1 || s.Prefetch > counter.MaxCall, "is not 1 to %d", counter.MaxCall)
	f.Check("sequence.max_age", s.MaxAge, s.MaxAge < 10*time.Millisecond || s.MaxAge > time.Hour, "is not 10ms to 1h")
}

// planSegments checks all fields that newNumbers uses: Namespace, whose default it applies,
// Segments, Series, SegmentStore and Wait.
func (c *Config) planSegments(f *fault.List) {
	check := settings.Check{List: f, Name: keyOf}
	check.Namespace(c.Namespace)
	check.Wait(c.Wait)
	fault.OneOf(f, "segment_store", c.SegmentStore, SegmentStoreAuto, SegmentStoreDB, SegmentStoreRedis, SegmentStoreDBRedis)
	names := map[string]bool{}
	add := func(list string, i int, name string, err error) {
		at := fmt.Sprintf("%s[%d]", list, i)
		f.Take(err, func(key string) string { return strings.TrimSuffix(at+"."+key, ".") })
		f.Check(at+".name", name, name != "" && names[name], "is used twice: give each of segments and series a name of its own")
		names[name] = true
	}
	inherited := c.Namespace
	if lease.CheckNamespace(inherited) != nil {
		inherited = "faulty" // reported above
	}
	c.Segments, c.Series = slices.Clone(c.Segments), slices.Clone(c.Series)
	for i := range c.Segments {
		s := &c.Segments[i]
		s.Namespace = cmp.Or(s.Namespace, inherited)
		add("segments", i, s.Name, s.Validate())
	}
	scopes := map[[2]string]bool{}
	for i := range c.Series {
		s := &c.Series[i]
		s.Namespace = cmp.Or(s.Namespace, inherited)
		add("series", i, s.Name, s.Validate())
		scopes[[2]string{s.Namespace, s.Name}] = true
	}
	for i, s := range c.Segments {
		of, _, dot := strings.Cut(s.Name, ".")
		f.Check(fmt.Sprintf("segments[%d].name", i), s.Name, dot && scopes[[2]string{s.Namespace, of}], "is the name of a scope of series %s: choose another", of)
	}
}

// replicaTime is how long a call may wait for Redis replicas: half of the time of a renewal.
func (c Config) replicaTime() time.Duration { return min(time.Second, c.Lease.TTL/6) }

func parseSchedule(spec string) (cron.Schedule, error) {
	// The parser panics if nothing follows the time zone.
	if (strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ=")) && !strings.Contains(spec, " ") {
		return nil, errors.New("no fields follow the time zone")
	}
	return cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(spec)
}
