package redisnumbers_test

import (
	"math"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/redisseq"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func newStore(t testing.TB, s *redistest.Store) *redisnumbers.Store {
	t.Helper()
	n, err := redisnumbers.New(s.Client(t), option.All[redisconn.Conn](s.Options))
	require.NoError(t, err)
	return n
}

// asking returns a request for n numbers of "shop/orders".
func asking(n int64) numberstore.Request {
	return numberstore.Request{Name: "shop/orders", N: n, Start: 1, Max: 1 << 60, Create: true}
}

func TestSegmentsKeepTheContract(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) {
		n := newStore(t, s)
		require.NoError(t, segmentcheck.Run(t.Context(), n, "shop/", func(name string, start int64) error {
			return n.Create(t.Context(), name, start)
		}))
		require.NoError(t, segmentcheck.Create(t.Context(), n, "shop/admin"))
		require.Empty(t, n.Warnings())
		for key := range s.Records(t) {
			require.EqualValues(t, -1, s.Admin.TTL(t.Context(), key).Val(), key)
		}
	})
}

// TestSegmentsNotComparedBefore: the record of a name that was used without comparing incarnations may be
// older than the first comparison.
func TestSegmentsNotComparedBefore(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) {
		never, err := redisnumbers.New(s.Client(t), option.All[redisconn.Conn](s.Options), redisseq.WithDurable(true))
		require.NoError(t, err)
		require.NoError(t, never.Create(t.Context(), "shop/orders", 1))
		compared := newStore(t, s)
		_, err = compared.Reserve(t.Context(), asking(1))
		require.ErrorIs(t, err, redisnumbers.ErrChanged)
		require.NoError(t, compared.Advance(t.Context(), "shop/orders", 9))
		for _, n := range []*redisnumbers.Store{never, compared, never, compared} {
			_, err := n.Reserve(t.Context(), asking(10))
			require.NoError(t, err)
		}
		s.Reincarnate(t)
		_, err = compared.Reserve(t.Context(), asking(1))
		require.ErrorIs(t, err, redisnumbers.ErrChanged)
	})
}

// TestSegmentsAfterALoss: a request does not create a name that may have been lost.
func TestSegmentsAfterALoss(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) {
		n := newStore(t, s)
		_, err := n.Reserve(t.Context(), asking(1))
		require.ErrorIs(t, err, numbers.ErrUnknown)
		const create = "snowlease segment create --namespace shop --name orders --start N"
		require.ErrorContains(t, err, create)
		require.ErrorContains(t, err, "above all its numbers", "start 1 repeats numbers after a wipe")
		_, err = n.HighWater(t.Context(), "shop/orders")
		require.ErrorIs(t, err, numbers.ErrUnknown)
		err = n.Advance(t.Context(), "shop/orders", 1)
		require.ErrorIs(t, err, numbers.ErrUnknown)
		require.ErrorContains(t, err, create)
		require.NoError(t, n.Create(t.Context(), "shop/orders", 1))
		_, err = n.Reserve(t.Context(), asking(10))
		require.NoError(t, err)

		s.Reincarnate(t)
		for range 2 {
			_, err = n.Reserve(t.Context(), asking(1))
			require.ErrorIs(t, err, redisnumbers.ErrChanged)
			require.ErrorIs(t, err, lease.ErrSetup)
			require.ErrorContains(t, err, "snowlease segment advance")
		}
		err = n.Advance(t.Context(), "shop/orders", math.MaxInt64)
		require.ErrorIs(t, err, numberstore.ErrRequest)
		require.ErrorContains(t, err, "no number is above 9223372036854775807")
		given, err := n.HighWater(t.Context(), "shop/orders")
		require.NoError(t, err)
		require.EqualValues(t, 10, given)
		_, err = n.Reserve(t.Context(), asking(1))
		require.ErrorIs(t, err, redisnumbers.ErrChanged, "a look advances nothing")
		require.NoError(t, n.Advance(t.Context(), "shop/orders", 3)) // less than is known
		got, err := n.Reserve(t.Context(), asking(5))
		require.NoError(t, err)
		require.Equal(t, numberstore.Range{First: 11, Last: 15}, got)
		s.Reincarnate(t)
		require.NoError(t, n.Advance(t.Context(), "shop/orders", 100))
		got, err = n.Reserve(t.Context(), asking(5))
		require.NoError(t, err)
		require.Equal(t, numberstore.Range{First: 101, Last: 105}, got)

		s.Wipe(t)
		_, err = n.Reserve(t.Context(), asking(1))
		require.ErrorIs(t, err, numbers.ErrUnknown)
	})
}

func TestSegmentsThatLoseNothing(t *testing.T) {
	t.Parallel()
	s := redistest.NewMini(t, redisseq.WithDurable(true), redisseq.WithPrefix("app"))
	n := newStore(t, s)
	require.NoError(t, n.Create(t.Context(), "shop/orders", 1))
	s.Reincarnate(t)
	_, err := n.Reserve(t.Context(), asking(1))
	require.NoError(t, err)
	require.Contains(t, s.Records(t), "app:{shop}:segment:orders")
}

// repeating is a hook that sends what installs a segment twice.
func repeating(between func()) redistest.Hook {
	return func(cmds []redis.Cmder, call func() error) error {
		if err := call(); err != nil || !installs(cmds[0]) {
			return err
		}
		between()
		return call()
	}
}

func installs(cmd redis.Cmder) bool {
	args := cmd.Args() // evalsha sha 1 key compares writes verb me n first
	return len(args) > 8 && args[6] == "install" && args[8] != int64(0)
}

// TestDamage: a record that makes no sense is named and stays as it is.
func TestDamage(t *testing.T) {
	t.Parallel()
	s := redistest.NewMini(t)
	n := newStore(t, s)
	d := dispenser(t, s.Client(t), new(segmentcheck.Memory), ordered())
	const segments, front = "snowlease:{shop}:segment:orders", orders
	reserve := func() error { _, err := n.Reserve(t.Context(), asking(1)); return err }
	dispense := func() error { _, err := d.Reserve(t.Context(), asking(1)); return err }
	given := func() error { _, err := n.HighWater(t.Context(), "shop/orders"); return err }
	advance := func() error { return n.Advance(t.Context(), "shop/orders", 5) }
	calls := map[string][]func() error{segments: {reserve, given, advance}, front: {dispense}}
	for key, harms := range map[string][]string{
		// Who is told to create a name that lost its number would be told that it exists.
		segments: {"given", "given=", "given=x", "given=-1", "given=007", "given=1e3", "given=" + strings.Repeat("9", 20), ""},
		front:    {"used=-1", "first=x", "first=", "nfirst=00", "len=" + strings.Repeat("1", 16), ""},
	} {
		for _, harm := range harms {
			s.Wipe(t)
			require.NoError(t, n.Create(t.Context(), "shop/orders", 1))
			require.NoError(t, dispense())
			fetched(t, s, "100")
			switch field, value, set := strings.Cut(harm, "="); {
			case set:
				require.NoError(t, s.Admin.HSet(t.Context(), key, field, value).Err())
			case field != "":
				require.NoError(t, s.Admin.HDel(t.Context(), key, field).Err())
			default:
				require.NoError(t, s.Admin.Set(t.Context(), key, "a text", 0).Err())
			}
			before := s.Records(t)
			for _, call := range calls[key] {
				err := call()
				require.ErrorIs(t, err, lease.ErrDamaged, "%s %s", key, harm)
				require.ErrorContains(t, err, key)
				require.ErrorContains(t, err, "another prefix")
			}
			require.ErrorIs(t, n.Create(t.Context(), "shop/orders", 1), numbers.ErrExists)
			require.Equal(t, before, s.Records(t))
		}
	}
}

// TestServerThatDoesNotTellItsRunID: its change would pass unnoticed.
func TestServerThatDoesNotTellItsRunID(t *testing.T) {
	t.Parallel()
	redistest.EachSilent(t, func(t *testing.T, client *redis.Client) {
		n, err := redisnumbers.New(client)
		require.NoError(t, err)
		require.ErrorIs(t, n.Create(t.Context(), "shop/orders", 1), redisseq.ErrRunID)
		_, err = dispenser(t, client, new(segmentcheck.Memory), numbers.SegmentConfig{Namespace: "shop", Name: "orders"}).Reserve(t.Context(), asking(1))
		require.ErrorIs(t, err, redisseq.ErrRunID)
	})
}

// Redis cannot tie one name to another, so it refuses rather than reserve without it, and has no series.
func TestBesideIsRefused(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1}) // nobody is asked
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	store, err := redisnumbers.New(client)
	require.NoError(t, err)
	m := new(segmentcheck.Memory)
	require.NoError(t, m.Create(t.Context(), "/period.shop.orders", 1))
	for s, want := range map[numbers.Store]error{store: numbers.ErrUnknown, dispenser(t, client, m, ordered(10)): nil} {
		_, err := s.Reserve(t.Context(), numberstore.Request{Name: "shop/orders", N: 1, Start: 1, Max: 10, Create: true, Beside: "other"})
		require.ErrorIs(t, err, numberstore.ErrRequest)
		require.ErrorContains(t, err, "use SQL")
		_, err = s.(numberstore.Reader).HighWater(t.Context(), "/period.shop.orders")
		require.ErrorIs(t, err, want)
	}
}
