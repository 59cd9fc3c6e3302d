package console_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/lease"
)

// listed is a worker whose slots come from elsewhere.
type listed struct {
	shown
	slots answers
}

func (l listed) Slots(context.Context) ([]lease.Slot, error) { return l.slots, nil }

type answers []lease.Slot

// pool answers with n slots; the first of them are lent.
func pool(n, lent int) answers {
	slots := make(answers, n)
	for i := range slots {
		slots[i] = lease.Slot{Worker: int64(i), Now: 1000}
		if i < lent {
			slots[i].Token, slots[i].Holder, slots[i].Expires, slots[i].HighWater = 1, "app@host:1", 2000, 2000
		}
	}
	return slots
}

// slots is what tests read of api/slots.
type slots struct {
	Namespace, Center string
	Size, Left        int
	Counts            map[string]int
	Slots             []struct {
		State, Holder string
		Until         time.Time
	}
}

func slotsOf(t testing.TB, h http.Handler) (got slots, length int) {
	t.Helper()
	rec := get(t, h, "/api/slots")
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	length = rec.Body.Len()
	decode(t, rec, &got)
	return got, length
}

// The table shows what is in use first, then what was not given back. The own lease ends as the
// worker knows, which has heard of renewals since.
func TestRowsOfTheTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where the list does not age
		const now = 100_000
		st := snowlease.Status{Namespace: "orders", Center: "memory", Worker: 5, Token: 6, Ceiling: time.UnixMilli(now + 30)}
		h := console.Of(listed{shown(func() snowlease.Status { return st }), answers{
			{Worker: 0, Token: 1, Holder: "back@host:1", Expires: now - 9, Now: now},
			{Worker: 1, Token: 2, Holder: "gone@host:1", Expires: now - 9, Now: now},
			{Worker: 2, Token: 3, Holder: "back@host:1", Expires: now + 9, Now: now},
			{Worker: 3, Token: 4, Holder: "gone@host:2", Expires: now - 9, HighWater: now + 9, Now: now},
			{Worker: 4, Now: now},
			{Worker: 5, Token: 6, Holder: "own@host:1", Expires: now + 9, Now: now},
			{Worker: 6, HighWater: now + 9, Now: now}, // by a first start
		}})
		got, _ := slotsOf(t, h)
		require.Equal(t, []any{"orders", "memory", 7, 0}, []any{got.Namespace, got.Center, got.Size, got.Left})
		require.Equal(t, map[string]int{"this process": 1, "lent": 1, "not yet free": 1, "ahead": 1, "free, not given back": 2, "free": 1}, got.Counts)
		require.Equal(t, "this process", got.Slots[5].State)
		for worker, until := range map[int]int64{2: now + 9, 3: now + 9, 5: now + 30, 6: now + 9} {
			require.Equal(t, until, got.Slots[worker].Until.UnixMilli())
		}
		page := get(t, h, "/").Body.String()
		require.Contains(t, page, "<strong>3 of 7</strong> are in use")
		var rows []string
		for _, m := range regexp.MustCompile(`<th scope="row" class="num">(\d+)<`).FindAllStringSubmatch(page, -1) {
			rows = append(rows, m[1])
		}
		require.Equal(t, []string{"2", "3", "5", "0", "1"}, rows)

		st.Worker, st.Token = 2, 3 // borrowed between two answers of the lister
		got, _ = slotsOf(t, h)
		require.Equal(t, []string{"this process", "lent"}, []string{got.Slots[2].State, got.Slots[5].State})
	})
}

// A holder written by a stranger is shortened and cannot reverse the text around it.
func TestHoldersThatAreNotToBePrinted(t *testing.T) {
	t.Parallel()
	got, length := slotsOf(t, console.Of(listed{still(snowlease.Status{}), answers{{Holder: "app@\u202eh\x1b[1m:1" + strings.Repeat("A", 1<<20)}}}))
	require.Contains(t, got.Slots[0].Holder, "app@?h?[1m:1AAA")
	require.Less(t, length, 1000)
}

// The table of a large pool has at most 256 rows. Its JSON omits free slots, and all but the
// first 1,024 others.
func TestLargePools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		size, lent, rows  int
		text              string
		slots, left, free int
	}{
		{0, 0, 0, "Nothing is on record", 0, 0, 0},
		{128, 100, 100, "100 of 128", 128, 0, 28},
		{1024, 300, 256, "And 44 more", 1024, 0, 724},
		{1025, 3, 3, "3 of 1025", 3, 0, 1022},
		{30_000, 2_000, 256, "And 1744 more", 1024, 976, 28_000},
	} {
		h := console.Of(listed{still(snowlease.Status{Worker: -1}), pool(tt.size, tt.lent)})
		page := get(t, h, "/parts/slots").Body.String()
		require.Equal(t, tt.rows, strings.Count(page, "<th scope=\"row\""), tt)
		require.Contains(t, page, tt.text)
		got, length := slotsOf(t, h)
		require.Equal(t, []int{tt.slots, tt.size, tt.left, tt.lent, tt.free}, []int{len(got.Slots), got.Size, got.Left, got.Counts["lent"], got.Counts["free"]})
		require.Less(t, length, 1<<19)
	}
}
