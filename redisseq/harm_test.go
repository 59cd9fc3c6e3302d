package redisseq_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/segment"
	"github.com/snowlease/snowlease/snowflake"
)

// harms are what a field may be found to hold.
var harms = map[string]string{
	"-inf": "-inf", "inf": "inf", "nan": "nan", "-1e17": "-1e17", "1e17": "1e17", "-1": "-1", "2^63": "9223372036854775808",
	"19 nines": "9999999999999999999", "15 nines": "999999999999999", "hex": "0x10", "empty": "", "1 MB": strings.Repeat("9", 1<<20),
	"text": "soon\x1b[2J\n", "other type": "",
}

// rest are those of them that one engine is enough for.
var rest = map[string]bool{"inf": true, "-1e17": true, "1e17": true, "19 nines": true, "hex": true, "text": true}

// A harmed is a store whose records somebody else has written to.
type harmed struct {
	t       testing.TB
	s       *store
	srv     *testserver.Server // nil: a miniredis
	records func() map[string]any
}

// call runs a verb, which must return within its context, and checks its error.
func (h *harmed) call(what string, before map[string]any, verb func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
	defer cancel()
	err := verb(ctx)
	if ctx.Err() != nil || err != nil && strings.Contains(err.Error(), "BUSY") {
		if h.srv != nil {
			h.srv.Kill() // by its process id: a script that has written cannot be ended otherwise
		}
		require.FailNow(h.t, "the script does not end", "%s: %v", what, err)
	}
	if err == nil {
		return nil
	}
	text := err.Error()
	assert.Less(h.t, len(text), 1500, what)
	assert.Equal(h.t, -1, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %q", what, text)
	if errors.Is(err, redisseq.ErrDamaged) {
		assert.Regexp(h.t, `delete (it|all four)`, text, what)
		assert.Contains(h.t, text, "snowlease:{", what)
		assert.Equal(h.t, before, h.records(), "%s: written to by what says that it is damaged", what)
		return err
	}
	assert.NotRegexp(h.t, absurd, text, what)
	for _, answer := range []error{lease.ErrLost, lease.ErrExists, lease.ErrUnknown, segment.ErrUnknown, segment.ErrExists, segment.ErrEnd, redisseq.ErrChanged} {
		if errors.Is(err, answer) {
			return err
		}
	}
	if errors.As(err, new(*lease.QuarantineError)) || errors.As(err, new(*lease.MismatchError)) || errors.As(err, new(*lease.NoFreeWorkerError)) ||
		errors.Is(err, snowflake.ErrExhausted) {
		return err
	}
	assert.Fail(h.t, "neither an answer nor damage", "%s: %v", what, err)
	return nil
}

// absurd are figures that come of numbers that are none.
var absurd = regexp.MustCompile(`expires in 0s|until -|at -\d|-29227`)

func TestHarmedRecords(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &harmed{t: t}
			if name == "redis" {
				h.s, h.srv = startReal(t)
			} else {
				h.s = newMini(t)
			}
			h.leases()
			h.sequence()
			h.segments()
		})
	}
}

// each harms each field in each way, and runs verbs on what that leaves of the records
// that prepare has made.
func (h *harmed) each(fields []string, verbs func(what string)) {
	restore := h.s.Snapshot(h.t)
	h.records = func() map[string]any { return h.s.records(h.t) }
	replaced := map[string]bool{} // keys by lists
	for _, field := range fields {
		for name, value := range harms {
			at := strings.Fields(field) // the key, the field in it, what of the field
			if name == "other type" {
				if replaced[at[0]] {
					continue
				}
				replaced[at[0]] = true
			}
			if h.srv == nil && rest[name] { // a miniredis takes long for a script
				continue
			}
			restore()
			if h.harm(at[0], at[1], at[2], name, value) {
				verbs(field + " is " + name)
			}
		}
	}
	restore()
}

// harm puts a value into a field: of a hash, the score of a member, the name of a
// member, or between the bars of a value.
func (h *harmed) harm(key, field, kind, name, value string) bool {
	ctx, c := h.t.Context(), h.s.admin
	var err error
	switch {
	case name == "other type":
		if err = c.Del(ctx, key).Err(); err == nil {
			err = c.RPush(ctx, key, "x").Err()
		}
	case kind == "score":
		n := map[string]string{"-inf": value, "inf": value, "-1e17": value, "1e17": value, "-1": value, "2^63": value, "15 nines": value, "text": "0.5"}[name]
		if n == "" {
			return false // no score can be that
		}
		err = c.Do(ctx, "ZADD", key, n, field).Err()
	case kind == "member":
		if err = c.ZRem(ctx, key, field).Err(); err == nil {
			err = c.ZAdd(ctx, key, redis.Z{Score: 0, Member: value}).Err()
		}
	case kind == "name":
		if err = c.HDel(ctx, key, field).Err(); err == nil {
			err = c.HSet(ctx, key, value, "0").Err()
		}
	case strings.HasPrefix(kind, "part"):
		parts := strings.SplitN(c.HGet(ctx, key, field).Val(), "|", 5)
		parts[kind[4]-'0'] = value
		err = c.HSet(ctx, key, field, strings.Join(parts, "|")).Err()
	default:
		err = c.HSet(ctx, key, field, value).Err()
	}
	require.NoError(h.t, err)
	return true
}

func (h *harmed) leases() {
	t, s := h.t, h.s
	c := opened(t, s)
	held := acquire(t, c)
	given := acquire(t, c)
	require.NoError(t, c.Release(t.Context(), given, given.Now))
	k := keys("orders")
	var fields []string
	for _, f := range []string{"pin", "pool", "run", "prev", "quar", "why", "init", "made"} {
		fields = append(fields, k[3]+" "+f+" field")
	}
	fields = append(fields, fmt.Sprintf("%s o:%x field", k[3], held.Owner))
	for _, worker := range []string{"0", "1", "2"} { // held, given back, never lent
		fields = append(fields, k[0]+" "+worker+" score", k[1]+" "+worker+" field", k[2]+" "+worker+" field")
	}
	for part := range 5 {
		fields = append(fields, fmt.Sprintf("%s 0 part%d", k[2], part))
	}
	all := func(what string) {
		before := h.records()
		do := func(verb string, f func(ctx context.Context) error) error {
			err := h.call(what+": "+verb, before, f)
			if !errors.Is(err, redisseq.ErrDamaged) {
				before = h.records()
			}
			return err
		}
		_ = do("record", func(ctx context.Context) error { _, err := c.Record(ctx, "orders"); return err })
		_ = do("slots", func(ctx context.Context) error { _, err := c.Slots(ctx, "orders"); return err })
		_ = do("init", func(ctx context.Context) error { return c.Init(ctx, request()) })
		_ = do("init again", func(ctx context.Context) error { return c.Init(ctx, held.Request) })
		_ = do("acquire", func(ctx context.Context) error {
			g, err := c.Acquire(ctx, request())
			if err == nil && g.Worker == held.Worker && g.Floor < held.Ceiling {
				return fmt.Errorf("%v overlaps %v", g, held)
			}
			return err
		})
		_ = do("acquire one", func(ctx context.Context) error {
			g, err := c.Acquire(ctx, request(func(r *lease.Request) { r.Last = 0 }))
			if err == nil && g.Floor < held.Ceiling {
				return fmt.Errorf("%v overlaps %v", g, held)
			}
			return err
		})
		_ = do("acquire again", func(ctx context.Context) error { _, err := c.Acquire(ctx, held.Request); return err })
		g := held
		_ = do("renew", func(ctx context.Context) error {
			r, err := c.Renew(ctx, g)
			if err == nil {
				require.Less(t, r.Ceiling, int64(1e15), what)
				g = r
			}
			return err
		})
		_ = do("quarantine", func(ctx context.Context) error { _, err := c.Quarantine(ctx, "orders", "by hand"); return err })
		_ = do("revoke", func(ctx context.Context) error { return c.Revoke(ctx, "orders", 0, g.Token) })
		_ = do("release", func(ctx context.Context) error { return c.Release(ctx, g, g.Now) })
		_ = do("retire", func(ctx context.Context) error { return c.Retire(ctx, "orders", "by hand") })
	}
	h.each(fields, all)
	h.each([]string{k[0] + " 3 member", k[1] + " 3 name", k[2] + " 3 name"}, all)

	// And where records are made anew.
	require.NoError(t, s.admin.HDel(t.Context(), k[1], "3").Err())
	h.each([]string{
		k[0] + " 0 score", k[1] + " 0 field", k[2] + " 0 part1", k[3] + " quar field", k[3] + " made field",
		k[3] + " run field", k[3] + " prev field", k[3] + " why field",
	}, all)
	s.Wipe(t)
}

func (h *harmed) sequence() {
	t, s := h.t, h.s
	member := func() *redisseq.Sequence {
		m, err := redisseq.NewSequence(s.client(t), redisseq.SequenceConfig{Namespace: "orders", Prefetch: 1, Skew: time.Millisecond, MaxAhead: 2 * time.Millisecond}, s.options...)
		require.NoError(t, err)
		return m
	}
	m := member()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if s.traits.StandsStill {
		_, _, _ = m.Reserve(ctx, 1) // the quarantine of a new namespace
		s.Sleep(time.Second)
	}
	require.NoError(t, m.Start(ctx))
	id, err := m.NextID()
	require.NoError(t, err)
	key, fields := "snowlease:{orders}:sequence", []string(nil)
	for field := range s.admin.HGetAll(ctx, key).Val() {
		fields = append(fields, key+" "+field+" field")
	}
	require.Len(t, fields, 9)
	h.each(fields, func(what string) {
		fresh := member()
		defer fresh.Close()
		for verb, on := range map[string]*redisseq.Sequence{"a member": m, "a new member": fresh} {
			before := h.records()
			_ = h.call(what+": "+verb, before, func(ctx context.Context) error {
				first, got, err := on.Reserve(ctx, 1)
				if err == nil {
					require.EqualValues(t, 1, got, what)
					require.Positive(t, first, what)
				}
				return err
			})
			require.Less(t, len(fmt.Sprint(h.records())), 1<<20+2000, "%s: %s", what, verb)
		}
		before := h.records()
		_ = h.call(what+": start", before, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			if err := fresh.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			return nil
		})
	})
	again, err := m.NextID()
	if err == nil {
		require.Greater(t, again, id)
	}
	m.Close()
	s.Wipe(t)
}

func (h *harmed) segments() {
	t, s := h.t, h.s
	n := segments(t, s)
	require.NoError(t, n.Create(t.Context(), "orders", 100))
	_, err := n.Reserve(t.Context(), numbers(10))
	require.NoError(t, err)
	require.NoError(t, n.Create(t.Context(), "behind", 1))
	client := s.client(t)
	dispenser := func() *redisseq.Dispenser {
		d, err := redisseq.NewDispenser(client, n, segment.Config{Name: "behind", Order: segment.OrderStrict, Step: 100, MaxStep: 100})
		require.NoError(t, err)
		return d
	}
	d, req := dispenser(), numbers(1)
	req.Name = "behind"
	given := map[int64]bool{}
	for range 101 { // into the second segment
		r, err := d.Reserve(t.Context(), req)
		require.NoError(t, err)
		given[r.First] = true
	}
	require.NoError(t, d.Close())
	var fields []string
	for _, key := range []string{"snowlease:{orders}:segment", "snowlease:{behind}:dispenser"} {
		for field := range s.admin.HGetAll(t.Context(), key).Val() {
			fields = append(fields, key+" "+field+" field")
		}
	}
	require.Len(t, fields, 13)
	h.each(fields, func(what string) {
		before := h.records()
		do := func(verb string, f func(ctx context.Context) error) {
			_ = h.call(what+": "+verb, before, f)
			before = h.records()
		}
		do("reserve", func(ctx context.Context) error {
			r, err := n.Reserve(ctx, numbers(10))
			if err == nil {
				require.Greater(t, r.First, int64(109), what)
				require.EqualValues(t, 10, r.Len(), what)
			}
			return err
		})
		do("create", func(ctx context.Context) error { return n.Create(ctx, "orders", 5) })
		do("resume", func(ctx context.Context) error { return n.Resume(ctx, "orders", 5) })
		d := dispenser()
		do("dispense", func(ctx context.Context) error {
			r, err := d.Reserve(ctx, req)
			if err == nil {
				require.Positive(t, r.First, what)
				require.GreaterOrEqual(t, r.Last, r.First, what)
				require.False(t, given[r.First], "%s: %d is given twice", what, r.First)
			}
			return err
		})
		require.NoError(t, d.Close()) // and what it does in the background
	})
}

// TestDamageBesideALoss: a loss is not written down by a verb that finds damage.
func TestDamageBesideALoss(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	g := acquire(t, c)
	k := keys("orders")
	require.NoError(t, s.admin.HDel(t.Context(), k[1], "3").Err())
	require.NoError(t, s.admin.HSet(t.Context(), k[1], "0", "-1").Err())
	before := s.records(t)
	_, err := c.Renew(t.Context(), g)
	require.ErrorIs(t, err, redisseq.ErrDamaged)
	require.ErrorIs(t, c.Release(t.Context(), g, g.Now), redisseq.ErrDamaged)
	require.Equal(t, before, s.records(t))
}
