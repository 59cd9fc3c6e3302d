package idworker_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/numbers/ordernumber"
	"github.com/snowlease/snowlease/snowflake"
)

func TestZeroConfigButNamespaceIsValid(t *testing.T) {
	require.NoError(t, idworker.Config{Namespace: "orders"}.Validate())
	c := idworker.Config{Namespace: "orders"}.WithDefaults()
	require.Equal(t, 30*time.Second, c.Lease.TTL)
	require.Equal(t, 30*time.Second, c.Lease.MaxTTL)
	require.Equal(t, 2*time.Second, c.Store.Skew)
	require.Equal(t, 10*time.Second, c.Wait)
	require.Equal(t, "@every 10s", c.Lease.Renew)
	require.Contains(t, c.Holder, "@")
	require.Equal(t, time.Minute, idworker.Config{Lease: idworker.LeaseConfig{TTL: time.Minute}}.WithDefaults().Lease.MaxTTL)

	req, err := idworker.Config{Namespace: "orders", Workers: "3 - 7", Preset: "wide"}.Request()
	require.NoError(t, err)
	require.NoError(t, req.Validate())
	require.Equal(t, int64(3), req.First)
	require.Equal(t, int64(7), req.Last)
	require.Equal(t, int64(1024), req.Pool)
	require.Equal(t, snowflake.Wide().String(), req.Layout)

	req, err = idworker.Config{Namespace: "orders", Reserved: 2}.Request()
	require.NoError(t, err)
	require.Equal(t, []int64{30, 0, 29}, []int64{req.Pool, req.First, req.Last})

	req, err = idworker.Config{Namespace: "orders", Reserved: 2, Workers: "16-31"}.Request()
	require.NoError(t, err)
	require.Equal(t, []int64{30, 16, 29}, []int64{req.Pool, req.First, req.Last}, "what is reserved is not lent")
}

// Each number and duration is checked: -1 is a fault that names its key, in a mode that has it.
func TestNoKeyIsNegative(t *testing.T) {
	keys := 0
	var walk func(typ reflect.Type, index []int, key string)
	walk = func(typ reflect.Type, index []int, key string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			at, key := append(slices.Clone(index), i), strings.TrimPrefix(key+"."+f.Tag.Get("yaml"), ".")
			kind := f.Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			switch {
			case kind == reflect.TypeFor[snowflake.Layout](): // has a validation of its own
				continue
			case kind.Kind() == reflect.Struct:
				walk(kind, at, key)
				continue
			case !kind.ConvertibleTo(reflect.TypeFor[int64]()) || kind.Kind() == reflect.Uint8:
				continue
			}
			var faults []string
			for _, mode := range []idworker.Mode{idworker.ModeDB, idworker.ModeLocal, idworker.ModeRedisSequence} {
				c := idworker.Config{Namespace: "orders", Mode: mode}
				v := reflect.ValueOf(&c).Elem().FieldByIndex(at)
				if v.Kind() == reflect.Pointer {
					v.Set(reflect.New(kind))
					v = v.Elem()
				}
				v.SetInt(-1)
				faults = append(faults, fmt.Sprint(c.Validate()))
			}
			require.Contains(t, strings.Join(faults, "\n"), key+" -1", key)
			keys++
		}
	}
	walk(reflect.TypeFor[idworker.Config](), nil, "")
	require.Greater(t, keys, 10)
}

func TestBadConfigNamesFieldValueAndRemedy(t *testing.T) {
	minus, big := int64(-1), int64(32)
	sequence := func(change func(*idworker.Config)) func(*idworker.Config) {
		return func(c *idworker.Config) { c.Mode = idworker.ModeRedisSequence; change(c) }
	}
	for _, c := range []struct {
		name   string
		change func(*idworker.Config)
		want   []string
	}{
		{"namespace empty", func(c *idworker.Config) { c.Namespace = "" }, []string{"namespace is empty", "such as"}},
		{"namespace odd", func(c *idworker.Config) { c.Namespace = "a b" }, []string{"namespace", `"a b"`, "A-Z a-z"}},
		{"namespace long", func(c *idworker.Config) { c.Namespace = strings.Repeat("a", 65) }, []string{"namespace", "1 to 64"}},
		{"mode", func(c *idworker.Config) { c.Mode = "etcd" }, []string{"mode", `"etcd"`, "auto, db, redis, local"}},
		{"preset", func(c *idworker.Config) { c.Preset = "leaf" }, []string{"layout", `"leaf"`, "twitter"}},
		{"preset and layout", func(c *idworker.Config) { c.Preset = "wide"; c.Layout.WorkerBits = 3 }, []string{`"wide"`, "give one of them"}},
		{"layout", func(c *idworker.Config) { c.Layout = snowflake.Layout{TimeBits: 60, WorkerBits: 10, SequenceBits: 12} }, []string{"layout", "82", "63"}},
		{"layout's end", func(c *idworker.Config) { c.Layout.TimeBits = 20 }, []string{"layout", "20 time bits", "later epoch"}},
		{"workers", func(c *idworker.Config) { c.Workers = "0-32" }, []string{"workers", `"0-32"`, "0 to 31"}},
		{"reserved", func(c *idworker.Config) { c.Reserved = 32 }, []string{"reserved 32", "0 to 31"}},
		{"workers half reserved", func(c *idworker.Config) { c.Reserved, c.Workers = 2, "0-30" }, []string{"workers", `"0-30"`, "reserved worker ids, 30 to 31", "end at 29", "or at 31"}},
		{"workers all reserved", func(c *idworker.Config) { c.Reserved, c.Workers = 2, "30-31" }, []string{"workers", `"30-31"`, "0 to 29"}},
		{"workers backwards", func(c *idworker.Config) { c.Workers = "7-3" }, []string{"workers", `"7-3"`}},
		{"workers one", func(c *idworker.Config) { c.Workers = "5" }, []string{"workers", `"5"`, `"0-15"`}},
		{"ttl", func(c *idworker.Config) { c.Lease.TTL = time.Millisecond }, []string{"lease.ttl 1ms", "at least 100ms"}},
		{"ttl and skew", func(c *idworker.Config) { c.Lease.TTL = time.Second }, []string{"lease.ttl 1s is less than twice store.skew (2s, the default): raise it, or set store.skew to at most 500ms"}},
		{"ttl and unit", func(c *idworker.Config) { c.Layout = snowflake.Layout{TimeUnit: 10 * time.Second, SequenceBits: 20} }, []string{"lease.ttl 30s", "1m40s"}},
		{"ttl fine", func(c *idworker.Config) { c.Lease.TTL = 30*time.Second + 1 }, []string{"lease.ttl 30.000000001s", "whole milliseconds"}},
		{"wait fine", func(c *idworker.Config) { c.Wait = 10 }, []string{"wait 10ns is finer than a millisecond: give whole milliseconds; a number without a unit is nanoseconds"}},
		{"max_ttl low", func(c *idworker.Config) { c.Lease.MaxTTL = time.Second }, []string{"lease.max_ttl 1s", "30s", "for all members"}},
		{"max_ttl high", func(c *idworker.Config) { c.Lease.MaxTTL = 25 * time.Hour }, []string{"lease.max_ttl 25h", "24h"}},
		{"skew", func(c *idworker.Config) { c.Store.Skew = time.Minute }, []string{"store.skew 1m0s", "15s", "lower it"}},
		{"renew", func(c *idworker.Config) { c.Lease.Renew = "sometimes" }, []string{"renew", `"sometimes"`, "@every 10s"}},
		{"renew, a time zone only", func(c *idworker.Config) { c.Lease.Renew = "TZ=UTC" }, []string{`"TZ=UTC"`, "no fields follow"}},
		{"renew, a time zone only, by its other name", func(c *idworker.Config) { c.Lease.Renew = "CRON_TZ=Asia/Tokyo" }, []string{`"CRON_TZ=Asia/Tokyo"`, "no fields follow"}},
		{"wait", func(c *idworker.Config) { c.Wait = -1 }, []string{"wait -1ns", "10s"}},
		{"business", func(c *idworker.Config) { c.Business = 1 }, []string{"business 1 is not 0 to 0"}},
		{"wait_replicas", func(c *idworker.Config) { c.Store.WaitReplicas = -1 }, []string{"store.wait_replicas -1 is negative", "or 0 to wait for none"}},
		{"wait_replicas db", func(c *idworker.Config) { c.Mode, c.Store.WaitReplicas = idworker.ModeDB, 1 }, []string{"wait_replicas 1", "mode db", "semi-synchronous", "synchronous_commit"}},
		{"wait_replicas local", func(c *idworker.Config) {
			c.Mode, c.Local.Worker, c.Store.WaitReplicas = idworker.ModeLocal, new(int64), 1
		}, []string{"store.wait_replicas 1", "mode local"}},
		{"max_ahead", func(c *idworker.Config) { c.MaxAhead = time.Millisecond }, []string{"max_ahead 1ms", "2ms", "1h"}},
		{"max_ahead of long ticks", func(c *idworker.Config) { c.Layout.TimeUnit, c.MaxAhead = time.Hour, 3*time.Hour }, []string{"max_ahead 3h0m0s is not from 2 time units of the layout (2h0m0s) to 2h0m0s"}},
		{"holder", func(c *idworker.Config) { c.Holder = strings.Repeat("h", 256) }, []string{"holder", "256 bytes", "255"}},
		{"lease in redis-sequence", sequence(func(c *idworker.Config) { c.Lease.TTL = time.Minute }), []string{"lease is set, but mode redis-sequence lends no worker ids: leave it out, or set mode auto, db, redis or local"}},
		{"store in local", func(c *idworker.Config) { c.Mode, c.Store.Skew = idworker.ModeLocal, time.Second }, []string{"store is set, but mode local has no store: leave it out, or set mode auto"}},
		{"durable in local", func(c *idworker.Config) { c.Mode, c.Store.Durable = idworker.ModeLocal, true }, []string{`store is set, but mode local has no store`}},
		{"local in another mode", func(c *idworker.Config) { c.Local.Worker, c.Local.Dir = &big, "/x" }, []string{
			"local is set, but mode auto gets worker ids from a center: leave it out, or set mode local",
		}},
		{"sequence in another mode", func(c *idworker.Config) {
			c.Mode, c.Sequence = idworker.ModeDB, idworker.SequenceConfig{Worker: 3, Prefetch: 64, MaxAge: 2 * time.Second}
		}, []string{
			"sequence is set, but mode db counts no ids in Redis: leave it out, or set mode redis-sequence",
		}},
		{"segment", func(c *idworker.Config) { c.Segments = []numbers.SegmentConfig{{Name: "a"}, {Name: "a", Start: -1}} }, []string{`segments[1].start -1 is not from 1 to max`, `segments[1].name "a" is used twice`}},
		{"segment_store", func(c *idworker.Config) { c.SegmentStore = "etcd" }, []string{`segment_store "etcd"`, "auto, db, redis"}},
		{"local source", func(c *idworker.Config) { c.Mode, c.Local.Source = idworker.ModeLocal, "mac" }, []string{`local.source "mac"`, "explicit"}},
		{"local worker low", func(c *idworker.Config) { c.Mode, c.Local.Worker = idworker.ModeLocal, &minus }, []string{"local.worker -1", "0 to 31"}},
		{"local worker high", func(c *idworker.Config) { c.Mode, c.Local.Worker = idworker.ModeLocal, &big }, []string{"local.worker 32", "0 to 31"}},
		{"sequence.worker", sequence(func(c *idworker.Config) { c.Sequence.Worker = 32 }), []string{"sequence.worker 32 is not 0 to 31"}},
		{"sequence.worker reserved", sequence(func(c *idworker.Config) { c.Sequence.Worker, c.Reserved = 31, 1 }), []string{"sequence.worker 31 is one of the 1 reserved"}},
		{"sequence.worker below 0", sequence(func(c *idworker.Config) { c.Sequence.Worker = -1 }), []string{"sequence.worker -1 is not 0 to 31"}},
		{"sequence.prefetch", sequence(func(c *idworker.Config) { c.Sequence.Prefetch = 1<<20 + 1 }), []string{"sequence.prefetch 1048577 is not 1 to 1048576"}},
		{"sequence.prefetch below 0", sequence(func(c *idworker.Config) { c.Sequence.Prefetch = -1 }), []string{"sequence.prefetch -1 is not 1 to"}},
		{"sequence.max_age", sequence(func(c *idworker.Config) { c.Sequence.MaxAge = time.Millisecond }), []string{"sequence.max_age 1ms is not 10ms to 1h"}},
		{"sequence.max_age too long", sequence(func(c *idworker.Config) { c.Sequence.MaxAge = 2 * time.Hour }), []string{"sequence.max_age 2h0m0s is not 10ms to 1h"}},
		{"sequence workers", sequence(func(c *idworker.Config) { c.Workers = "0-3" }), []string{"workers \"0-3\""}},
		{"sequence skew", sequence(func(c *idworker.Config) { c.Store.Skew = 2 * time.Hour }), []string{"store.skew 2h0m0s is not 1ms to 1h"}},
		{"sequence skew below 0", sequence(func(c *idworker.Config) { c.Store.Skew = -time.Second }), []string{"store.skew -1s is not 1ms to 1h"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := idworker.Config{Namespace: "orders"}
			c.change(&cfg)
			err := cfg.Validate()
			require.Error(t, err)
			requireTyped(t, err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			_, err = idworker.Open(t.Context(), cfg, idworker.Clients{})
			require.Error(t, err)
		})
	}
}

func TestATTLIsOneFault(t *testing.T) {
	for _, ttl := range []time.Duration{30, time.Millisecond, -time.Second} {
		err := idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{TTL: ttl}}.Validate()
		require.Equal(t, []string{"lease.ttl"}, requireTyped(t, err), "%v", err)
	}
}

// requireTyped checks that each fault in err has a key and a text.
func requireTyped(t *testing.T, err error) (keys []string) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%T", err)
	for _, one := range joined.Unwrap() {
		var e *fault.Fault
		require.ErrorAs(t, one, &e)
		require.NotEmpty(t, e.Key)
		require.True(t, e.Problem != "" || e.Err != nil, e.Key)
		require.True(t, strings.HasPrefix(e.Error(), "snowlease: config: "), e)
		require.NotContains(t, e.Error(), "\n")
		keys = append(keys, e.Key)
	}
	return keys
}

func TestValidateReportsEveryFaultAtOnce(t *testing.T) {
	err := idworker.Config{Mode: "x", Lease: idworker.LeaseConfig{TTL: 1, Renew: "x"}, Store: idworker.StoreConfig{Skew: -1}, Preset: "x", Workers: "x", Wait: -1, MaxAhead: -1}.Validate()
	require.ElementsMatch(t, []string{
		"namespace", "mode", "preset", "workers", "lease.ttl", "store.skew", "store.skew", "lease.renew", "wait", "max_ahead",
	}, requireTyped(t, err))
}

// A file may name every key, whatever its mode.
func TestDefaultsOfOtherModesAreNoFaults(t *testing.T) {
	for _, mode := range []idworker.Mode{idworker.ModeAuto, idworker.ModeDB, idworker.ModeRedis, idworker.ModeLocal, idworker.ModeRedisSequence} {
		c := idworker.Config{Namespace: "orders", Mode: mode}
		require.NoError(t, c.Validate(), mode)
		require.NoError(t, c.WithDefaults().Validate(), mode)
		require.Equal(t, c.WithDefaults(), c.WithDefaults().WithDefaults(), mode)
	}
	segments := []numbers.SegmentConfig{{Name: "a"}}
	never := idworker.StoreConfig{Durable: true}
	require.NoError(t, idworker.Config{Namespace: "orders", Mode: idworker.ModeLocal, Store: never, Segments: segments}.Validate(), "that of the segments")
	prefixed := idworker.StoreConfig{TablePrefix: "orders_"}
	require.NoError(t, idworker.Config{Namespace: "orders", Mode: idworker.ModeLocal, Store: prefixed, Series: []numbers.SeriesConfig{{Name: "invoices"}}}.Validate(), "that of the series")
	require.ErrorContains(t, idworker.Config{Mode: idworker.ModeLocal, Segments: segments}.Validate(), "namespace is empty", "others may have the default, too")
}

// Every decoder uses the same snake_case name for a key.
func TestTagsAgree(t *testing.T) {
	for _, c := range []any{idworker.Config{}, idworker.LeaseConfig{}, idworker.StoreConfig{}, idworker.SequenceConfig{}, snowflake.Layout{}, hostseq.Config{}, numbers.SegmentConfig{}, ordernumber.Config{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(c)) {
			name := f.Tag.Get("yaml")
			require.Regexp(t, "^([a-z]+(_[a-z]+)*|-)$", name, f.Name)
			require.Equal(t, name, f.Tag.Get("json"), f.Name)
			env := strings.TrimSuffix(f.Tag.Get("env")+f.Tag.Get("envPrefix"), "_")
			require.Equal(t, strings.ToUpper(name), env, f.Name)
		}
	}
}
