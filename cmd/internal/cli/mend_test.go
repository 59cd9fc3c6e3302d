package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The mark of one worker id is a century ahead. The doctor and workers report it. Mend refuses
// while the worker id is lent, and lowers the mark afterwards.
func TestMend(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store, ns string, more ...string) {
		args := func(verb string, a ...string) []string {
			return append(append([]string{verb, "--store=" + store, "--namespace=" + ns}, more...), a...)
		}
		code, _, errs := call(t, "", args("mend", "--yes")...)
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, "nothing is on record")
		require.Zero(t, first(call(t, "", args("init", "--yes")...)))
		c := openCenter(t, store, more...)
		g := lend(t, c, ns)
		code, out, errs := call(t, "", args("mend")...)
		require.Zero(t, code, errs)
		require.Contains(t, out, "nothing to mend")

		far := g
		far.Ceiling += (100 * 365 * 24 * time.Hour).Milliseconds()
		_, err := c.Renew(t.Context(), far)
		require.NoError(t, err)
		late := fmt.Sprintf("worker ids (1: %d): recorded times reach %s", g.Worker, at(far.Ceiling))
		_, out, _ = call(t, "", args("workers")...)
		require.Contains(t, out, "\n"+late)
		_, out, _ = call(t, "", args("doctor")...)
		require.Contains(t, out, "fault  times          "+late)
		require.Contains(t, out, `or run "snowlease mend"`)

		code, _, errs = call(t, "", args("mend")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, late)
		require.Contains(t, errs, "not confirmed")
		code, _, errs = call(t, "", args("mend", "--yes")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, fmt.Sprintf("1 worker ids with a late mark have leases that run, and the first (%d) is lent to ", g.Worker))
		require.Contains(t, errs, "stop the holders")

		require.NoError(t, c.Release(t.Context(), far, far.Ceiling))
		code, out, errs = call(t, "yes\n", args("mend", "--json")...)
		require.Zero(t, code, errs)
		require.Contains(t, errs, late)
		require.Contains(t, out, `"result":"no recorded time is later than `)
		slots, err := c.Slots(t.Context(), ns)
		require.NoError(t, err)
		slot := slots[g.Worker]
		require.Greater(t, slot.Mark, slot.Now)
		require.LessOrEqual(t, slot.Mark, slot.Now+(g.MaxTTL+g.Skew).Milliseconds())
		_, out, _ = call(t, "", args("doctor")...)
		require.Contains(t, out, "ok     times ")
	})
}

// The doctor does not promise that an impossibly late quarantine ends on its own.
func TestMendQuarantine(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_meta SET quarantine_ms = 32503680000000, reason = 'x' WHERE ns = 'orders'")
	_, all := examine(t, store, "--namespace=orders")
	requireFinding(t, all, lease.LevelFault, "times", "the quarantine: recorded times reach 3000-01-01")
	for _, f := range all {
		require.NotEqual(t, "it ends on its own", f.Advice)
	}
	require.Zero(t, first(call(t, "", "mend", "--store="+store, "--namespace=orders", "--yes")))
	_, all = examine(t, store, "--namespace=orders")
	requireFinding(t, all, lease.LevelOK, "times", "")
	requireFinding(t, all, lease.LevelNote, "quarantine", "possible loss of records: x; ids under newly lent worker ids carry times up to ")
}

// True marks look late if the store's clock has been set back by two. The doctor
// names that cause. It and the question show the clock. A worker id that was given back has no
// holder to stop.
func TestMendByAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	c := openCenter(t, store)
	g := lend(t, c, "orders")
	require.NoError(t, c.Release(t.Context(), g, g.Ceiling))
	ahead := time.Hour.Milliseconds()
	sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), fmt.Sprintf("UPDATE snowlease_slot SET expires_ms = expires_ms + %d, hwm_ms = hwm_ms + %[1]d WHERE ns = 'orders' AND slot = %d", ahead, g.Worker))

	clock := regexp.MustCompile(`by the store's clock, which says (\S+Z), members write none later than `)
	shown := func(text string) {
		t.Helper()
		found := clock.FindStringSubmatch(text)
		require.NotNil(t, found, text)
		now, err := time.Parse(stamp, found[1])
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), now, time.Minute)
	}
	_, all := examine(t, store, "--namespace=orders")
	for _, f := range all {
		if f.Check == "times" {
			require.Contains(t, f.Advice, "or is behind now")
			require.Contains(t, f.Advice, "compare it with the clock of another host")
			shown(f.Seen)
		}
	}
	requireFinding(t, all, lease.LevelFault, "times", "recorded times reach")
	code, _, errs := call(t, "", "mend", "--store="+store, "--namespace=orders")
	require.Equal(t, exitNo, code)
	require.Contains(t, errs, "Are you sure that the store's clock is right, ")
	shown(errs)
	code, _, errs = call(t, "", "mend", "--store="+store, "--namespace=orders", "--yes")
	require.Equal(t, exitNo, code)
	require.Contains(t, errs, fmt.Sprintf("the first (%d) has no name of a holder on record, and its lease ends at ", g.Worker))
	require.NotContains(t, errs, "stop the holders")
	require.Contains(t, errs, fmt.Sprintf(": mend again after that; if it ends later then, a process renews it: \"snowlease release --worker=%d --token=", g.Worker))
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
	code, _, errs = call(t, "", "mend", "--store="+store, "--namespace=orders", "--yes")
	require.Zero(t, code, errs)
}

// No process can start by damaged rows.
func TestDoctorFindsDamagedSlots(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_slot SET expires_ms = -1")
	code, all := examine(t, store, "--namespace=orders")
	require.Equal(t, exitNo, code)
	requireFinding(t, all, lease.LevelFault, "workers", "expires_ms of worker id 0 is -1")
}

// By a max_ttl that is not that of the processes, times in use look late.
func TestMendByAWrongPin(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte("namespace: orders\nmode: db\n"), 0o600))
	initialize(t, store)
	c := openCenter(t, store)
	g := lend(t, c, "orders")
	const pinned = "max_ttl=30s skew=2s ttl=30s"
	for pin, want := range map[string]string{"max_ttl=-30s skew=2s ttl=30s": "is not a valid pin", "max_ttl=6s skew=2s ttl=6s": "mend would lower times that are in use"} {
		sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_meta SET pin = REPLACE(pin, '"+pinned+"', '"+pin+"')")
		code, _, errs := call(t, "", "mend", "--store="+store, "--namespace=orders", "--config="+file, "--yes")
		require.Equal(t, exitFailed, code, errs)
		require.Contains(t, errs, want)
		sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_meta SET pin = REPLACE(pin, '"+pin+"', '"+pinned+"')")
	}
	slots, err := c.Slots(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, []int64{g.Ceiling, g.Ceiling}, []int64{slots[g.Worker].Mark, slots[g.Worker].Expires})
	require.Zero(t, first(call(t, "", "mend", "--store="+store, "--namespace=orders", "--config="+file, "--yes")))
}
