package redistest

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// harms are bad values for a field.
var harms = map[string]string{
	"-inf": "-inf", "inf": "inf", "nan": "nan", "-1e17": "-1e17", "1e17": "1e17", "-1": "-1", "2^63": "9223372036854775808",
	"19 nines": "9999999999999999999", "15 nines": "999999999999999", "hex": "0x10", "empty": "", "1 MB": strings.Repeat("9", 1<<20),
	"text": "soon\x1b[2J\n", "other type": "",
}

// rest are the harms that run on one engine only.
var rest = map[string]bool{"inf": true, "-1e17": true, "1e17": true, "19 nines": true, "hex": true, "text": true}

// A Harmed is a store with records written by others.
type Harmed struct {
	*Store
	Answers []error // allowed errors besides those of package lease

	t   testing.TB
	srv *testserver.Server // nil: a miniredis
}

// EachHarmed runs a test on each engine.
func EachHarmed(t *testing.T, test func(t *testing.T, h *Harmed)) {
	for name := range Engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &Harmed{t: t}
			if name == "redis" {
				h.Store, h.srv = StartReal(t)
			} else {
				h.Store = NewMini(t)
			}
			test(t, h)
		})
	}
}

// Call runs a verb, which must return within its context, and checks its error.
func (h *Harmed) Call(what string, before map[string]any, verb func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
	defer cancel()
	err := verb(ctx)
	if ctx.Err() != nil || err != nil && strings.Contains(err.Error(), "BUSY") {
		if h.srv != nil {
			h.srv.Kill() // a script that has written cannot be stopped otherwise
		}
		require.FailNow(h.t, "the script does not end", "%s: %v", what, err)
	}
	if err == nil {
		return nil
	}
	text := err.Error()
	assert.Less(h.t, len(text), 1500, what)
	assert.Equal(h.t, -1, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %q", what, text)
	if errors.Is(err, lease.ErrDamaged) {
		assert.Regexp(h.t, `delete (it|all four)`, text, what)
		assert.Contains(h.t, text, "snowlease:{", what)
		assert.Equal(h.t, before, h.Records(h.t), "%s: written to by what says that it is damaged", what)
		return err
	}
	assert.NotRegexp(h.t, absurd, text, what)
	for _, answer := range append(h.Answers, lease.ErrLost, lease.ErrExists, lease.ErrUnknown) {
		if errors.Is(err, answer) {
			return err
		}
	}
	if errors.As(err, new(*lease.QuarantineError)) || errors.As(err, new(*lease.MismatchError)) || errors.As(err, new(*lease.NoFreeWorkerError)) ||
		errors.Is(err, generator.ErrExhausted) {
		return err
	}
	assert.Fail(h.t, "neither an answer nor damage", "%s: %v", what, err)
	return nil
}

// absurd matches numbers computed from invalid ones.
var absurd = regexp.MustCompile(`expires in 0s|until -|at -\d|-29227`)

// Each creates records with prepare, harms each field in each way, and runs verbs on the
// result.
func (h *Harmed) Each(fields []string, verbs func(what string)) {
	restore := h.Snapshot(h.t)
	replaced := map[string]bool{} // keys replaced by lists
	for _, field := range fields {
		for name, value := range harms {
			at := strings.Fields(field) // key, field, part of the field
			if name == "other type" {
				if replaced[at[0]] {
					continue
				}
				replaced[at[0]] = true
			}
			if h.srv == nil && rest[name] { // scripts are slow on miniredis
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

// harm writes a value into a field of a hash, the score or name of a member, or a part
// of a value between bars.
func (h *Harmed) harm(key, field, kind, name, value string) bool {
	ctx, c := h.t.Context(), h.Admin
	var err error
	switch {
	case name == "other type":
		if err = c.Del(ctx, key).Err(); err == nil {
			err = c.RPush(ctx, key, "x").Err()
		}
	case kind == "score":
		n := map[string]string{"-inf": value, "inf": value, "-1e17": value, "1e17": value, "-1": value, "2^63": value, "15 nines": value, "text": "0.5"}[name]
		if n == "" {
			return false // not a valid score
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
