package idworker

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq/counter"
	"github.com/snowlease/snowlease/snowflake"
)

// A plan is a valid Config with everything derived from it.
type plan struct {
	Config
	layout   snowflake.Layout
	request  lease.Request
	schedule cron.Schedule
	// renewGiven is whether LeaseConfig.Renew was set. Only then does a sparse schedule
	// deserve a warning: the default suits the default TTL, not shorter ones.
	renewGiven  bool
	options     []snowflake.Option
	sequence    counter.Config // for mode redis-sequence
	hasReserved bool           // the reserved worker ids are among Workers
}

// plan fills in the defaults of c and checks each part. A faulty part is replaced by its
// default, so that the faults of other parts are found too.
func (c Config) plan() (plan, error) {
	p := plan{Config: c.WithDefaults(), renewGiven: c.Lease.Renew != ""}
	f := new(fault.List)
	p.planCommon(f)
	p.planLayout(f)
	pool, first, last := p.planWorkers(f)
	p.planLease(f)
	p.planStore(f)
	p.planLocal(f)
	p.planSequence(f, pool)
	p.planSegments(f)
	if err := configErrors(f); err != nil {
		return plan{}, err
	}
	p.request = lease.Request{
		Namespace: p.Namespace, Layout: p.layout.String(), Holder: p.Holder, Owner: lease.NewOwner(),
		Pool: pool, First: first, Last: last, TTL: p.Lease.TTL, MaxTTL: p.Lease.MaxTTL, Skew: p.Store.Skew,
	}
	if p.Mode == ModeLocal { // skew cannot be set: keep the default valid for a short TTL
		p.request.Skew = min(p.Store.Skew, p.Lease.TTL/2).Truncate(time.Millisecond)
	}
	return p, nil
}

// misplaced adds a fault for each key that is set in a block that the mode does not use.
// Default values are allowed: a file may name every key.
func misplaced[T any](p *plan, f *fault.List, block string, values, defaults T, why string, modes ...string) {
	v, d := reflect.ValueOf(values), reflect.ValueOf(defaults)
	for i := range v.NumField() {
		value := v.Field(i)
		if !value.IsZero() && !reflect.DeepEqual(value.Interface(), d.Field(i).Interface()) {
			f.Add(block+"."+v.Type().Field(i).Tag.Get("yaml"), value.Interface(), "is set, but mode %s %s", p.Mode, why).
				Do("leave it out, or set mode %s", strings.Join(modes, ", "))
		}
	}
}

// planCommon checks the keys of all modes, except layout and workers.
func (p *plan) planCommon(f *fault.List) {
	fault.OneOf(f, "mode", p.Mode, ModeAuto, ModeDB, ModeRedis, ModeLocal, ModeRedisSequence)
	if p.Namespace == "" {
		f.Add("namespace", nil, "is empty").Do(`name the service, such as "orders"; all its replicas use the same namespace`)
	} else if lease.CheckNamespace(p.Namespace) != nil {
		f.Add("namespace", p.Namespace, "is not a valid name").Do("give 1 to %d characters of A-Z a-z 0-9 . _ -", lease.MaxNamespace)
	}
	if len(p.Holder) > lease.MaxHolder {
		f.Add("holder", p.Holder, "has %d bytes", len(p.Holder)).Do("give at most %d", lease.MaxHolder)
	}
}

// planLayout chooses the layout and checks business and max_ahead, whose ranges depend on it.
func (p *plan) planLayout(f *fault.List) {
	key, layout, err := "layout", p.Layout, error(nil)
	switch {
	case p.Preset == "":
		layout = layout.WithDefaults()
	case layout != (snowflake.Layout{}):
		f.Add("layout", nil, "and preset %q are both set", p.Preset).Do("give one of them")
		layout = layout.WithDefaults()
	default:
		key = "preset"
		layout, err = snowflake.Preset(p.Preset)
	}
	if err == nil {
		err = layout.Validate()
	}
	if err == nil {
		err = layout.CheckTime(time.Now())
	}
	if err != nil {
		f.Take(err, func(string) string { return key })
		layout = snowflake.Layout{}.WithDefaults()
	}
	p.layout = layout

	if n := int64(1) << layout.BusinessBits; p.Business < 0 || p.Business >= n {
		f.Add("business", p.Business, "is not 0 to %d, the range of the layout's %d business bits", n-1, layout.BusinessBits).Do("give a number in that range, or raise layout.business_bits")
	}
	least := 2 * layout.TimeUnit
	if most := max(time.Hour, least); p.MaxAhead != 0 && (p.MaxAhead < least || p.MaxAhead > most) {
		f.Add("max_ahead", p.MaxAhead, "is not from 2 time units of the layout (%v) to %v", least, most)
		p.MaxAhead = 0
	} else if p.MaxAhead != 0 {
		p.options = append(p.options, snowflake.WithMaxAhead(p.MaxAhead))
	}
}

// planWorkers returns the size of the pool and the range of worker ids for this process.
func (p *plan) planWorkers(f *fault.List) (pool, first, last int64) {
	all := p.layout.Workers()
	pool = all - p.Reserved
	if p.Reserved < 0 || pool < 1 {
		f.Add("reserved", p.Reserved, "is not 0 to %d, one less than the layout's worker ids", all-1)
		pool = all
	}
	first, last, err := workers(p.Workers, pool, all)
	if p.Mode == ModeRedisSequence && p.Workers != "" {
		f.Add("workers", p.Workers, "is set, but in mode %s all ids carry one worker id", p.Mode).Do("leave it out, or set sequence.worker")
	} else if err != nil {
		f.Take(err, func(key string) string { return key })
	}
	p.hasReserved = last >= pool
	return pool, first, min(last, pool-1)
}

func (p *plan) planLease(f *fault.List) {
	if p.Mode == ModeRedisSequence {
		defaults := LeaseConfig{TTL: p.Lease.TTL}.withDefaults()
		defaults.TTL = lease.DefaultTTL
		misplaced(p, f, "lease", p.Lease, defaults, "lends no worker ids", "auto", "db", "redis or local")
		return
	}
	l := p.Lease
	if least := 10 * p.layout.TimeUnit; !checkMillis(f, "lease.ttl", l.TTL) {
		p.Lease.TTL = lease.DefaultTTL
	} else if l.TTL < lease.MinTTL || l.TTL < least {
		f.Add("lease.ttl", l.TTL, "is too short").Do("give at least %v and 10 time units of the layout (%v)", lease.MinTTL, least)
		p.Lease.TTL = lease.DefaultTTL
	}
	if l.MaxTTL < l.TTL || l.MaxTTL > 24*time.Hour {
		f.Add("lease.max_ttl", l.MaxTTL, "is not from lease.ttl (%v) to 24h", l.TTL).Do("choose a value in that range for all members of the namespace")
	}
	checkMillis(f, "lease.max_ttl", l.MaxTTL)
	fault.OneOf(f, "lease.on_lost", l.OnLost, OnLostContinue, OnLostShutdown)
	var err error
	if p.schedule, err = parseSchedule(l.Renew); err != nil {
		f.Add("lease.renew", l.Renew, "is not a cron schedule").By(err).Do(`give "@every 10s", or fields such as "*/10 * * * * *" (the seconds are optional)`)
	}
}

// checkMillis adds a fault unless d is in whole milliseconds.
func checkMillis(f *fault.List, key string, d time.Duration) bool {
	if d%time.Millisecond == 0 {
		return true
	}
	f.Add(key, d, "is finer than a millisecond").Do("give whole milliseconds; a number without a unit is nanoseconds")
	return false
}

var tablePrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

func (p *plan) planStore(f *fault.List) {
	s := p.Store
	fault.OneOf(f, "store.quarantine", s.Quarantine, lease.QuarantineOnChange, lease.QuarantineNever)
	if !tablePrefix.MatchString(s.TablePrefix) {
		f.Add("store.table_prefix", s.TablePrefix, "is not 1 to 40 characters of a-z 0-9 _ that start with no digit").Do("give one such as orders_")
	}
	switch {
	case s.WaitReplicas < 0:
		f.Add("store.wait_replicas", s.WaitReplicas, "is negative").Do("give the number of replicas that the Redis has, or 0 to wait for none")
	case s.WaitReplicas > 0 && (p.Mode == ModeDB || p.Mode == ModeLocal):
		f.Add("store.wait_replicas", s.WaitReplicas, "is set, but mode %s waits for no replicas", p.Mode).Do("%s", waitReplicasElsewhere)
	}
	switch half := p.Lease.TTL / 2; {
	case p.Mode == ModeLocal:
		s.WaitReplicas = 0 // reported above
		if len(p.Segments) > 0 {
			s.Quarantine, s.TablePrefix = "", "" // segments use them
		}
		misplaced(p, f, "store", s, StoreConfig{}.withDefaults(), "has no store", "auto", "db", "redis or redis-sequence")
		return
	case p.Mode != ModeRedisSequence && s.Skew == lease.DefaultSkew && s.Skew > half:
		f.Add("lease.ttl", p.Lease.TTL, "is less than twice store.skew (%v, the default)", s.Skew).Do("raise it, or set store.skew to at most %v in all members of the namespace", half)
	case p.Mode != ModeRedisSequence && (s.Skew < 0 || s.Skew > half):
		f.Add("store.skew", s.Skew, "is not from 0 to half of lease.ttl (%v)", half).Do("lower it, or raise lease.ttl")
	}
	checkMillis(f, "store.skew", s.Skew)
}

const waitReplicasElsewhere = "leave it out; configure the database to wait for its replicas: semi-synchronous replication in MySQL and MariaDB, synchronous_standby_names with synchronous_commit in PostgreSQL"

func (p *plan) planLocal(f *fault.List) {
	if p.Mode != ModeLocal {
		misplaced(p, f, "local", p.Local, hostseq.Config{MaxBehind: hostseq.DefaultMaxBehind}, "gets worker ids from a center", "local")
		return
	}
	f.Take(p.Local.Validate(p.layout), func(key string) string { return strings.TrimSuffix("local."+key, ".") })
}

// planSequence checks the block sequence. The worker ids from pool on are reserved.
func (p *plan) planSequence(f *fault.List, pool int64) {
	if p.Mode != ModeRedisSequence {
		misplaced(p, f, "sequence", p.Sequence, SequenceConfig{}.withDefaults(), "counts no ids in Redis", "redis-sequence")
		return
	}
	p.sequence = counter.Config{
		Namespace: p.Namespace, Layout: p.layout, Worker: p.Sequence.Worker, Prefetch: p.Sequence.Prefetch, MaxAge: p.Sequence.MaxAge,
		MaxAhead: p.MaxAhead, Skew: p.Store.Skew, ExactTimes: p.Store.ExactTimes,
	}.WithDefaults()
	if lease.CheckNamespace(p.Namespace) == nil {
		f.Take(p.sequence.Validate(), func(key string) string {
			switch key {
			case "":
				return "sequence"
			case "max_ahead":
				return key
			case "skew":
				return "store.skew"
			}
			return "sequence." + key
		})
	}
	if w := p.Sequence.Worker; p.Reserved > 0 && w >= pool && w < p.layout.Workers() {
		f.Add("sequence.worker", w, "is one of the %d reserved", p.Reserved).Do("give 0 to %d", pool-1)
	}
}

// planSegments checks all that newSegments uses: Segments, SegmentStore and Wait.
func (c Config) planSegments(f *fault.List) {
	if c.Wait < 0 {
		f.Add("wait", c.Wait, "is negative").Do("give a duration such as 10s")
	} else {
		checkMillis(f, "wait", c.Wait)
	}
	fault.OneOf(f, "segment_store", c.SegmentStore, SegmentStoreAuto, SegmentStoreDB, SegmentStoreRedis, SegmentStoreDBRedis)
	for i, s := range c.Segments {
		at := fmt.Sprintf("segments[%d]", i)
		f.Take(s.Validate(), func(key string) string { return strings.TrimSuffix(at+"."+key, ".") })
		for _, other := range c.Segments[:i] {
			if s.Name != "" && other.Name == s.Name {
				f.Add(at+".name", s.Name, "is used twice").Do("give each segment a name of its own")
				break
			}
		}
	}
}

func (c Config) checkSegments() error {
	f := new(fault.List)
	c.planSegments(f)
	return configErrors(f)
}

// replicaTime is how long a Redis may wait for its replicas: half of what a renewal may
// take.
func (c Config) replicaTime() time.Duration { return min(time.Second, c.Lease.TTL/6) }

// workers parses a range such as "0-15"; "" means all. The reserved worker ids are pool to
// all-1. A range contains all of them or none.
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
		return 0, 0, &fault.Fault{
			Key: "workers", Value: s, Problem: "is not a range of worker ids",
			Fix: fmt.Sprintf("give the first and the last, both from 0 to %d, such as \"0-%d\"", pool-1, (pool-1)/2),
		}
	case last >= pool && last < all-1:
		return 0, 0, &fault.Fault{
			Key: "workers", Value: s, Problem: fmt.Sprintf("ends among the reserved worker ids, %d to %d", pool, all-1),
			Fix: fmt.Sprintf("let it end at %d to leave them out, or at %d to use NextIDAt here", pool-1, all-1),
		}
	}
	return first, last, nil
}

func parseSchedule(spec string) (cron.Schedule, error) {
	// The parser panics if nothing follows the time zone.
	if (strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ=")) && !strings.Contains(spec, " ") {
		return nil, errors.New("no fields follow the time zone")
	}
	return cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(spec)
}

// sparse reports whether a gap between the next thousand times of s after t exceeds limit.
func sparse(s cron.Schedule, t time.Time, limit time.Duration) bool {
	for range 1000 {
		next := s.Next(t)
		if next.IsZero() || next.Sub(t) > limit { // zero means never, such as February 30
			return true
		}
		t = next
	}
	return false
}
