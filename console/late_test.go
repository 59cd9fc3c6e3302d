package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

const in33658 = 999_999_999_999_999

// late lends since the year 33658.
type late struct{ lease.Center }

func (l late) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := l.Center.Acquire(ctx, req)
	g.Since = in33658
	return g, err
}

// A time that JSON cannot have breaks no answer.
func TestTimesThatJSONCannotHave(t *testing.T) {
	t.Parallel()
	c := center(t)
	w := open(t, late{c}, "")
	c.Change("orders", func(ns rules.Namespace) rules.Namespace {
		ns.Slots = append([]rules.Slot(nil), ns.Slots...)
		for i := range ns.Slots {
			s := &ns.Slots[i]
			s.Since, s.Expires, s.Mark = in33658, in33658, in33658
		}
		return ns
	})
	for _, path := range []string{"/", "/api/slots", "/api/status"} {
		rec := get(t, console.New(w), path)
		require.Equal(t, http.StatusOK, rec.Code, "%s: %s", path, rec.Body)
	}
	_, err := json.Marshal(w.Status())
	require.NoError(t, err)
}
