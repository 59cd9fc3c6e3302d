package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The mark of one worker id lies a century ahead, while it is lent and after: the doctor
// and workers say so, mend refuses while it is lent, and lowers it then.
func TestMend(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store, ns string, more ...string) {
		args := func(verb string, a ...string) []string {
			return append(append([]string{verb, "--store=" + store, "--namespace=" + ns}, more...), a...)
		}
		code, _, errs := call(t, "", args("mend", "--yes")...)
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, "nothing is on record")
		require.Zero(t, first(call(t, "", args("init")...)))
		c := openCenter(t, store, more...)
		g := lend(t, c, ns)
		lender := c.(*opened).center.(lease.Center)
		code, out, errs := call(t, "", args("mend")...)
		require.Zero(t, code, errs)
		require.Contains(t, out, "nothing is to be mended")

		far := g
		far.Ceiling += (100 * 365 * 24 * time.Hour).Milliseconds()
		_, err := lender.Renew(t.Context(), far)
		require.NoError(t, err)
		late := fmt.Sprintf("worker ids (1: %d): times on record of up to %s", g.Worker, at(far.Ceiling))
		_, out, _ = call(t, "", args("workers")...)
		require.Contains(t, out, "\n"+late)
		_, out, _ = call(t, "", args("doctor")...)
		require.Contains(t, out, "fault  times          "+late)
		require.Contains(t, out, `else "snowlease mend"`)

		code, _, errs = call(t, "", args("mend")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, late)
		require.Contains(t, errs, "not confirmed")
		code, _, errs = call(t, "", args("mend", "--yes")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, fmt.Sprintf("are lent, 1 in all, the first, %d, to ", g.Worker))
		require.Contains(t, errs, "stop what holds them")

		require.NoError(t, lender.Release(t.Context(), far, far.Ceiling))
		code, out, errs = call(t, "yes\n", args("mend", "--json")...)
		require.Zero(t, code, errs)
		require.Contains(t, errs, late)
		require.Contains(t, out, `"result":"no time on record is later than `)
		slots, err := c.Slots(t.Context(), ns)
		require.NoError(t, err)
		slot := slots[g.Worker]
		require.Greater(t, slot.Mark, slot.Now)
		require.LessOrEqual(t, slot.Mark, slot.Now+(g.MaxTTL+g.Skew).Milliseconds())
		_, out, _ = call(t, "", args("doctor")...)
		require.Contains(t, out, "ok     times ")
	})
}

// A quarantine that no loss can have begun does not end by itself.
func TestMendQuarantine(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialise(t, store)
	sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_meta SET quarantine_ms = 32503680000000, reason = 'x' WHERE ns = 'orders'")
	_, all := examine(t, store, "--namespace=orders")
	requireFinding(t, all, lease.LevelFault, "times", "the quarantine: times on record of up to 3000-01-01")
	for _, f := range all {
		require.NotEqual(t, "it ends by itself", f.Advice)
	}
	require.Zero(t, first(call(t, "", "mend", "--store="+store, "--namespace=orders", "--yes")))
	_, all = examine(t, store, "--namespace=orders")
	requireFinding(t, all, lease.LevelOK, "times", "")
	requireFinding(t, all, lease.LevelNote, "quarantine", "x: ids of worker ids lent since carry times up to ")
}
