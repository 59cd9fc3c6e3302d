package snowlease_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/test/logtest"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestOpenReportsEveryFault(t *testing.T) {
	_, err := snowlease.Open(t.Context(), nil, snowlease.Config{
		Layout: snowflake.Layout{Epoch: -2, WorkerBits: 21}, Wait: -1, Business: 1, MaxAhead: -1, Holder: strings.Repeat("h", 256),
		Reserved: -1, Workers: "3-62", TTL: 1, Skew: -1, MaxTTL: 48 * time.Hour,
	})
	for _, want := range []string{
		"the center is nil", "Namespace is empty", "epoch -2", "worker bits 21", "Wait -1ns", "Business 1", "MaxAhead -1ns", "Holder", "Reserved -1",
		`Workers "3-62"`, "TTL 1ns", "Skew -1ns", "MaxTTL 48h0m0s is not from TTL",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "lease.ttl")
	_, err = snowlease.New((*memcenter.Center)(nil), snowlease.Config{Namespace: "orders"})
	require.EqualError(t, err, "snowlease: the center is nil: give one, such as from dbseq.Open, redisseq.New or hostseq.New")
	_, err = snowlease.New(memcenter.New(), snowlease.Config{Namespace: "orders", TTL: 3 * time.Second})
	require.EqualError(t, err, "snowlease: config: TTL 3s is less than twice Skew (2s, the default): raise it, or set Skew to at most 1.5s in all members of the namespace")
}

func TestRangeOfWorkers(t *testing.T) {
	for workers, want := range map[snowlease.Workers][2]int64{
		"": {0, 29}, "16-29": {16, 29}, "0-0": {0, 0}, "3 - 7": {3, 7}, "29-31": {29, 29}, "0-31": {0, 29},
	} {
		w, err := snowlease.New(memcenter.New(), snowlease.Config{Namespace: "orders", Reserved: 2, Workers: workers})
		require.NoError(t, err)
		require.Equal(t, snowlease.Pool{Size: 30, First: want[0], Last: want[1]}, w.Status().Pool)
	}
	_, err := snowlease.New(memcenter.New(), snowlease.Config{Namespace: "orders", Reserved: 2, Workers: "0-30"})
	require.EqualError(t, err, `snowlease: config: Workers "0-30" ends among the reserved worker ids, 30 to 31: let it end at 29 to leave them out, or at 31 to make backdated ids here`)
	for _, workers := range []snowlease.Workers{"all", "5", "-1", "-1-5", "5-", "7-3", "0-32", "30-31", "0-15-31", "0-0x1f"} {
		_, err := snowlease.New(memcenter.New(), snowlease.Config{Namespace: "orders", Reserved: 2, Workers: workers})
		require.EqualError(t, err, `snowlease: config: Workers "`+string(workers)+`" is not a range of worker ids: give the first and the last, both from 0 to 29, such as "0-14"`)
	}
}

// Each field of Config reaches what it is for.
func TestEveryFieldHasAnEffect(t *testing.T) {
	request := func(t *testing.T, cfg snowlease.Config) lease.Request {
		t.Helper()
		o := &observed{Center: memcenter.New()}
		w, err := snowlease.Open(t.Context(), o, cfg)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return o.request
	}
	asks := func(change func(*snowlease.Config), got func(lease.Request) any, want any) func(t *testing.T) {
		return func(t *testing.T) {
			cfg := snowlease.Config{Namespace: "orders", Wait: time.Hour}
			require.NotEqual(t, want, got(request(t, cfg)))
			change(&cfg)
			require.Equal(t, want, got(request(t, cfg)))
		}
	}
	cases := map[string]func(t *testing.T){
		"Namespace":  asks(func(c *snowlease.Config) { c.Namespace = "bills" }, func(r lease.Request) any { return r.Namespace }, "bills"),
		"Layout":     asks(func(c *snowlease.Config) { c.Layout = snowflake.Wide() }, func(r lease.Request) any { return r.Layout }, snowflake.Wide().String()),
		"Workers":    asks(func(c *snowlease.Config) { c.Workers = "16-31" }, func(r lease.Request) any { return r.First }, int64(16)),
		"Reserved":   asks(func(c *snowlease.Config) { c.Reserved = 2 }, func(r lease.Request) any { return r.Pool }, int64(30)),
		"Holder":     asks(func(c *snowlease.Config) { c.Holder = "me" }, func(r lease.Request) any { return r.Holder }, "me"),
		"TTL":        asks(func(c *snowlease.Config) { c.TTL = time.Minute }, func(r lease.Request) any { return r.TTL }, time.Minute),
		"MaxTTL":     asks(func(c *snowlease.Config) { c.MaxTTL = time.Minute }, func(r lease.Request) any { return r.MaxTTL }, time.Minute),
		"Skew":       asks(func(c *snowlease.Config) { c.Skew = time.Second }, func(r lease.Request) any { return r.Skew }, time.Second),
		"ExactTimes": asks(func(c *snowlease.Config) { c.ExactTimes = true }, func(r lease.Request) any { return r.MaxLead }, time.Duration(0)),
		"Business": func(t *testing.T) {
			w, err := snowlease.Open(t.Context(), memcenter.New(), snowlease.Config{Namespace: "orders", Business: 3, Layout: snowflake.Layout{WorkerBits: 5, BusinessBits: 5, SequenceBits: 12}})
			require.NoError(t, err)
			id, err := w.NextID()
			require.NoError(t, err)
			p, err := w.Decode(id)
			require.NoError(t, err)
			require.EqualValues(t, 3, p.Business)
			require.NoError(t, w.Close())
		},
		"MaxAhead": func(t *testing.T) {
			lead := func(ahead time.Duration) time.Duration {
				center := memcenter.New()
				require.NoError(t, snowlease.Init(t.Context(), center, snowlease.Config{Namespace: "orders"}))
				w, err := snowlease.Open(t.Context(), center, snowlease.Config{Namespace: "orders", MaxAhead: ahead})
				require.NoError(t, err)
				defer func() { _ = w.Close() }()
				require.NoError(t, w.NextIDs(t.Context(), make([]int64, 3<<17)))
				return w.Status().Lead
			}
			require.LessOrEqual(t, lead(2*time.Millisecond), 2*time.Millisecond)
			require.Greater(t, lead(0), 2*time.Millisecond)
		},
		"Wait": func(t *testing.T) {
			w, err := snowlease.Open(t.Context(), memcenter.New(), snowlease.Config{Namespace: "orders", Wait: time.Second})
			if err == nil {
				err = errors.Join(errors.New("it waited for longer"), w.Close())
			}
			require.ErrorContains(t, err, "raise Wait (1s)")
		},
		"Schedule": func(t *testing.T) {
			w, err := snowlease.Open(t.Context(), memcenter.New(), snowlease.Config{Namespace: "orders", Schedule: each(time.Second)})
			require.NoError(t, err)
			before := w.Status().Renewals
			time.Sleep(time.Minute)
			require.GreaterOrEqual(t, w.Status().Renewals-before, int64(59))
			require.NoError(t, w.Close())
		},
		"OnLost": func(t *testing.T) {
			center := memcenter.New()
			lost := make(chan error, 100)
			w, err := snowlease.Open(t.Context(), losing{center}, snowlease.Config{Namespace: "orders", OnLost: func(err error) { lost <- err }})
			require.NoError(t, err)
			time.Sleep(time.Minute)
			require.NoError(t, w.Close())
			require.NotEmpty(t, lost)
			require.ErrorIs(t, <-lost, lease.ErrLost)
		},
		"Logger": func(t *testing.T) {
			var log logtest.Journal
			w, err := snowlease.Open(t.Context(), memcenter.New(), snowlease.Config{Namespace: "orders", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.Contains(t, log.String(), "worker id released")
		},
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[snowlease.Config]()) {
		require.Contains(t, cases, f.Name)
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) { bubble(t, f) })
	}
}

// losing is a center that loses each lease at its first renewal.
type losing struct{ lease.Center }

func (losing) Renew(context.Context, lease.Grant) (lease.Grant, error) {
	return lease.Grant{}, lease.ErrLost
}

// each is a schedule.
type each time.Duration

func (e each) Next(t time.Time) time.Time { return t.Truncate(time.Duration(e)).Add(time.Duration(e)) }
