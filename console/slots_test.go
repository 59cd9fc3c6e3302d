package console

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
)

type one struct{}

func (one) Slots(context.Context, string) ([]lease.Slot, error) {
	return []lease.Slot{{Worker: 0, Token: 7, Holder: "app@host:1", Expires: 2000, Mark: 2000, Now: 1000}}, nil
}

// Between two answers of the lister, the process may have borrowed another worker id.
func TestAnotherLease(t *testing.T) {
	t.Parallel()
	s := slots{lister: one{}}
	st := snowlease.Status{Worker: -1}
	require.Equal(t, map[string]int{lent: 1}, s.of(t.Context(), st).Counts)
	s.read = time.Now().Add(time.Hour) // the answer does not age
	st.Worker, st.Token = 0, 7
	require.Equal(t, map[string]int{mine: 1}, s.of(t.Context(), st).Counts)
}

// A holder written by a stranger is shortened and cannot reverse the text around it.
func TestHoldersThatAreNotToBePrinted(t *testing.T) {
	t.Parallel()
	v := view(lease.Slot{Holder: "app@\u202eh\x1b[1m:1" + strings.Repeat("A", 1<<20)}, -1, 0)
	require.Contains(t, v.Holder, "app@?h?[1m:1AAA")
	require.Less(t, len(v.Holder), 600)
}

// The table shows what is in use first, then what was not given back. The own lease ends as the
// worker knows, which has heard of renewals since.
func TestRowsOfTheTable(t *testing.T) {
	t.Parallel()
	const now = 100_000
	list := []lease.Slot{
		{Worker: 0, Token: 1, Holder: "back@host:1", Expires: now - 9, Now: now},
		{Worker: 1, Token: 2, Holder: "gone@host:1", Expires: now - 9, Now: now},
		{Worker: 2, Token: 3, Holder: "back@host:1", Expires: now + 9, Now: now},
		{Worker: 3, Token: 4, Holder: "gone@host:2", Expires: now - 9, Mark: now + 9, Now: now},
		{Worker: 4, Now: now},
		{Worker: 5, Token: 6, Holder: "own@host:1", Expires: now + 9, Now: now},
		{Worker: 6, Mark: now + 9, Now: now}, // by a first start
	}
	p := newPool(snowlease.Status{Worker: 5, Token: 6, Ceiling: time.UnixMilli(now + 30)}, list, time.Time{}, nil)
	var workers []int64
	for _, s := range p.Rows {
		workers = append(workers, s.Worker)
	}
	require.Equal(t, []int64{2, 3, 5, 0, 1}, workers)
	require.Equal(t, 3, p.InUse)
	require.Equal(t, int64(now+30), p.Rows[2].Until.UnixMilli())
	require.Equal(t, int64(now+9), p.Rows[0].Until.UnixMilli())
}
