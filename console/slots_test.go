package console

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

type one struct{}

func (one) Slots(context.Context, string) ([]lease.Slot, error) {
	return []lease.Slot{{Worker: 0, Token: 7, Holder: "app@host:1", Expires: 2000, Mark: 2000, Now: 1000}}, nil
}

// Between two answers of the lister, the map is drawn again only for another lease.
func TestDrawnAsSeldomAsAsked(t *testing.T) {
	t.Parallel()
	s := slots{lister: one{}}
	st := idworker.Status{Worker: -1}
	first := s.of(t.Context(), st)
	s.read = time.Now().Add(time.Hour) // the answer does not age
	require.Same(t, first, s.of(t.Context(), st))
	require.Equal(t, map[string]int{lent: 1}, first.Counts)
	st.Worker, st.Token = 0, 7
	require.Equal(t, map[string]int{mine: 1}, s.of(t.Context(), st).Counts)
	s.read = time.Now().Add(-time.Hour)
	require.NotSame(t, first, s.of(t.Context(), idworker.Status{Worker: -1}))
}

// A holder written by a stranger is shortened and cannot reverse the text around it.
func TestHoldersThatAreNotToBePrinted(t *testing.T) {
	t.Parallel()
	v := view(lease.Slot{Holder: "app@\u202eh\x1b[1m:1" + strings.Repeat("A", 1<<20)}, -1, 0)
	require.Contains(t, v.Holder, "app@?h?[1m:1AAA")
	require.Less(t, len(v.Holder), 600)
	require.Equal(t, "?h?[1m", v.Host)
}
