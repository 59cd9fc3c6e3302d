package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The mark of one worker id is a century ahead. The doctor and workers report it, until its
// record is deleted.
func TestLateTimes(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store, ns string, more ...string) {
		args := func(verb string, a ...string) []string {
			return append(append([]string{verb, "--store=" + store, "--namespace=" + ns}, more...), a...)
		}
		require.Zero(t, first(call(t, "", args("init", "--yes")...)))
		c := openCenter(t, store, more...)
		g := lend(t, c, ns)
		_, out, _ := call(t, "", args("doctor")...)
		require.Contains(t, out, "ok     times ")
		far := g
		far.Ceiling += (100 * 365 * 24 * time.Hour).Milliseconds()
		_, err := c.Renew(t.Context(), far)
		require.NoError(t, err)
		late := fmt.Sprintf("worker ids (1: %d): recorded times reach %s", g.Worker, at(far.Ceiling))
		_, out, _ = call(t, "", args("workers")...)
		require.Contains(t, out, "\n"+late)
		_, out, _ = call(t, "", args("doctor")...)
		require.Contains(t, out, "fault  times          "+late)
		require.Contains(t, out, "docs/operations.md#late-times")
	})
}

// The doctor does not promise that an impossibly late quarantine ends on its own.
func TestLateQuarantine(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_meta SET quarantine_ms = 32503680000000, reason = 'x' WHERE ns = 'orders'")
	_, all := examine(t, store, "--namespace=orders")
	requireFinding(t, all, lease.LevelFault, "times", "the quarantine: recorded times reach 3000-01-01")
	for _, f := range all {
		require.NotEqual(t, "it ends on its own", f.Advice)
	}
}

// True marks look late if the store's clock has been set back by two. The doctor
// names that cause, and shows the clock.
func TestLateByAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	c := openCenter(t, store)
	g := lend(t, c, "orders")
	require.NoError(t, c.Release(t.Context(), g, g.Ceiling))
	ahead := time.Hour.Milliseconds()
	sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), fmt.Sprintf("UPDATE snowlease_slot SET expires_ms = expires_ms + %d, hwm_ms = hwm_ms + %[1]d WHERE ns = 'orders' AND slot = %d", ahead, g.Worker))

	clock := regexp.MustCompile(`by the store's clock, which says (\S+Z), members write none later than `)
	_, all := examine(t, store, "--namespace=orders")
	requireFinding(t, all, lease.LevelFault, "times", "recorded times reach")
	for _, f := range all {
		if f.Check == "times" {
			require.Contains(t, f.Advice, "or is behind now")
			require.Contains(t, f.Advice, "compare it with the clock of another host")
			found := clock.FindStringSubmatch(f.Seen)
			require.NotNil(t, found, f.Seen)
			now, err := time.Parse(stamp, found[1])
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), now, time.Minute)
		}
	}
}

// Somebody else has removed the name of a holder that renews.
func TestReleaseOfANamelessHolder(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	c := openCenter(t, store)
	g := lend(t, c, "orders")
	sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_slot SET holder = '', floor_ms = 4102444800000, hwm_ms = 4102444805000 WHERE owner <> ''")
	release := []string{"release", "--store=" + store, "--namespace=orders", fmt.Sprintf("--worker=%d", g.Worker), fmt.Sprintf("--token=%d", g.Token), "--yes"}
	code, _, errs := call(t, "", release...)
	require.Zero(t, code, errs)
	_, err := c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrLost)
	code, _, _ = call(t, "", release...)
	require.Equal(t, exitNo, code)
}

// No process can start by damaged rows.
func TestDoctorFindsDamagedSlots(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_slot SET expires_ms = -1")
	code, all := examine(t, store, "--namespace=orders")
	require.Equal(t, exitNo, code)
	requireFinding(t, all, lease.LevelFault, "workers", "expires of worker id 0 is -1")
}
