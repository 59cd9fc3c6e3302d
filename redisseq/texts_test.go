package redisseq_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// Foreign text in the records is shortened, and contains no terminal commands and no
// line breaks.
func TestTextsOfTheRecords(t *testing.T) {
	t.Parallel()
	hostile := "\x1b[2J\x1b]0;owned\a\nlevel=ERROR msg=forged" + strings.Repeat("A", 1<<20)
	shown := func(what, text string) {
		require.Less(t, len(text), 1500, what)
		require.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %q", what, text)
	}
	for _, field := range []string{"why", "pin", "run", "prev", "quar", "pool", "made"} {
		m := miniredis.RunT(t)
		client := redis.NewClient(&redis.Options{Addr: m.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		c, err := redisseq.New(client, redisseq.WithQuarantine(lease.QuarantineNever))
		require.NoError(t, err)
		req := request(func(r *lease.Request) { r.Namespace = "texts" })
		require.NoError(t, c.Extras().Init(t.Context(), req))
		m.HSet("snowlease:{texts}:meta", "quar", "9000000000000")
		m.HSet("snowlease:{texts}:meta", field, hostile)
		m.HSet("snowlease:{texts}:owner", "0", "0|0|0|0|"+hostile)
		m.HSet("snowlease:{texts}:owner", "1", hostile)
		_, err = c.Acquire(t.Context(), req)
		require.Error(t, err, field)
		shown(field+" acquire", err.Error())
		if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
			shown(field+" reason", q.Reason)
		}
		if rec, err := c.Extras().Operator.Record(t.Context(), "texts"); err != nil {
			shown(field+" record", err.Error())
		} else {
			shown(field+" record", rec.Incarnation+rec.Former+rec.Reason)
		}
		if slots, err := c.Extras().Lister.Slots(t.Context(), "texts"); err != nil {
			shown(field+" slots", err.Error())
		} else {
			require.LessOrEqual(t, len(slots[0].Holder), lease.MaxHolder)
		}
	}
}
