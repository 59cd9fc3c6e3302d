package redisseq_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
	"github.com/snowlease/snowlease/redisseq"
)

// A store is the Redis of one test, for leasetest and this package.
type store struct {
	*redistest.Store
	withoutIncarnation bool
}

var _ leasetest.Store = (*store)(nil)

func newMini(t testing.TB, options ...redisseq.Option) *store {
	return &store{Store: redistest.NewMini(t, options...)}
}

func newReal(t testing.TB, options ...redisseq.Option) *store {
	return &store{Store: redistest.NewReal(t, options...)}
}

func startReal(t testing.TB, options ...redisseq.Option) (*store, *testserver.Server) {
	s, srv := redistest.StartReal(t, options...)
	return &store{Store: s}, srv
}

func startReplicated(t testing.TB, options ...redisseq.Option) (s *store, primary, replica *testserver.Server) {
	r, primary, replica := redistest.StartReplicated(t, options...)
	return &store{Store: r}, primary, replica
}

func at(t testing.TB, srv *testserver.Server, options ...redisseq.Option) *store {
	return &store{Store: redistest.At(t, srv, options...)}
}

// newShared returns the Redis that tests share, and a namespace for this one.
func newShared(t testing.TB) (*store, string) {
	s := &store{Store: &redistest.Store{Addr: testserver.Redis(t)}}
	s.Admin = s.Client(t)
	return s, fmt.Sprintf("n-%016x", rand.Uint64())
}

func eachEngine(t *testing.T, test func(t *testing.T, s *store)) {
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) { test(t, &store{Store: s}) })
}

func (s *store) Center(t testing.TB) lease.Center { return s.center(t) }

func (s *store) center(t testing.TB) lease.Center {
	t.Helper()
	c, err := open(t, s.Client(t), s.Options...)
	require.NoError(t, err)
	return c
}

func (s *store) Drop(t testing.TB, namespace string, what leasetest.Records) {
	t.Helper()
	ctx, k := t.Context(), keys(namespace)
	latest, err := s.Admin.ZRange(ctx, k[0], -1, -1).Result()
	require.NoError(t, err)
	require.Len(t, latest, 1)
	var gone int64
	switch what {
	case leasetest.OneSlot:
		gone, err = s.Admin.ZRem(ctx, k[0], latest[0]).Result()
	case leasetest.OneMark:
		gone, err = s.Admin.HDel(ctx, k[1], latest[0]).Result()
	case leasetest.Owners:
		gone, err = s.Admin.Del(ctx, k[2]).Result()
	case leasetest.Meta:
		gone, err = s.Admin.Del(ctx, k[3]).Result()
	}
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
}

// fields are where a record has what leasetest edits: a field of the key meta, or a part of owner.
var fields = map[string]string{"pin": "pin", "quarantine": "quar", "owner": "0", "token": "1", "floor": "2", "since": "3"}

func (s *store) Edit(t testing.TB, namespace string, worker int64, field, value string) bool {
	t.Helper()
	ctx, k, member, at := t.Context(), keys(namespace), strconv.FormatInt(worker, 10), fields[field]
	switch {
	case worker < 0:
		require.NoError(t, s.Admin.HSet(ctx, k[3], at, value).Err())
	case field == "mark":
		require.NoError(t, s.Admin.HSet(ctx, k[1], member, value).Err())
	case field == "expires":
		return s.Admin.Do(ctx, "ZADD", k[0], value, member).Err() == nil
	default:
		held := strings.SplitN(s.Admin.HGet(ctx, k[2], member).Val(), "|", 5)
		held[at[0]-'0'] = value
		require.NoError(t, s.Admin.HSet(ctx, k[2], member, strings.Join(held, "|")).Err())
	}
	return true
}

// Delete does what docs/operations.md says.
func (s *store) Delete(t testing.TB, namespace string, worker int64) {
	t.Helper()
	ctx, k, member := t.Context(), keys(namespace), strconv.FormatInt(worker, 10)
	if worker < 0 {
		require.NoError(t, s.Admin.Del(ctx, k[3]).Err())
		return
	}
	require.NoError(t, s.Admin.ZRem(ctx, k[0], member).Err())
	require.NoError(t, s.Admin.HDel(ctx, k[1], member).Err())
	require.NoError(t, s.Admin.HDel(ctx, k[2], member).Err())
}

func (s *store) Traits() leasetest.Traits {
	return leasetest.Traits{LeastRecentlyUsed: true, Incarnation: !s.withoutIncarnation, RenewsAlone: true, StandsStill: s.StandsStill}
}

// keys returns the keys lease, mark, owner and meta of a namespace.
func keys(namespace string) []string {
	var k []string
	for _, what := range []string{"lease", "mark", "owner", "meta"} {
		k = append(k, "snowlease:{"+namespace+"}:"+what)
	}
	return k
}

// request returns a request for one of four workers of "orders" for 30 s.
func request(changes ...func(*lease.Request)) lease.Request {
	r := lease.Request{
		Namespace: "orders", Layout: "41/5/0/17@1577808000000/1ms", Holder: "app@host:1", Owner: lease.NewOwner(),
		Pool: 4, Last: 3, TTL: 10 * time.Minute, MaxTTL: 10 * time.Minute, Skew: 2 * time.Second, MaxLead: 10*time.Minute - 250*time.Millisecond,
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// ttl makes all times of a request short, for tests in real time.
func ttl(d time.Duration) func(*lease.Request) {
	return func(r *lease.Request) {
		r.TTL, r.MaxTTL, r.Skew = d, d, min(d/10, time.Second)
		r.MaxLead = d - r.Skew/2
	}
}

func named(namespace string) func(*lease.Request) {
	return func(r *lease.Request) { r.Namespace = namespace }
}

// horizon is the time at or below which all forgotten grants of q lie.
func horizon(q *lease.QuarantineError) int64 { return q.Until.Add(request().MaxLead).UnixMilli() - 1 }

func pool(n int64) func(*lease.Request) {
	return func(r *lease.Request) { r.Pool, r.Last = n, n-1 }
}

// opened initializes the namespace of request and returns a center.
func opened(t testing.TB, s *store, changes ...func(*lease.Request)) lease.Center {
	t.Helper()
	c := s.center(t)
	require.NoError(t, c.Extras().Init(t.Context(), request(changes...)))
	return c
}

func acquire(t testing.TB, c lease.Center, changes ...func(*lease.Request)) lease.Grant {
	t.Helper()
	g, err := c.Acquire(t.Context(), request(changes...))
	require.NoError(t, err)
	return g
}

func renew(t testing.TB, c lease.Center, g lease.Grant) lease.Grant {
	t.Helper()
	r, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	return r
}
