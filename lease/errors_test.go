package lease_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// Errors escape and shorten texts of the store.
func TestErrorsWithTextsOfTheStore(t *testing.T) {
	t.Parallel()
	hostile := "\x1b[2J\x1b]0;owned\a\nlevel=ERROR msg=forged\u202e" + strings.Repeat("A", 1<<20)
	foreign, retired := lease.ParsePin(hostile), lease.Pin{Retired: true, Reason: hostile}
	for name, err := range map[string]error{
		"quarantine": &lease.QuarantineError{Namespace: "orders", Reason: hostile, Now: time.Now(), Until: time.Now()},
		"mismatch":   &lease.MismatchError{Namespace: "orders", Stored: foreign},
		"retired":    &lease.MismatchError{Namespace: "orders", Stored: retired},
		"pin":        foreign.Err(),
		"retiredpin": retired.Err(),
	} {
		text := err.Error()
		require.Less(t, len(text), 1000, name)
		require.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %q", name, text)
		require.Contains(t, text, "bytes)", name)
	}
}

// An error shows the settings that differ and where they come from, and no others.
func TestMismatchNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	pinned := lease.Pin{Layout: "epoch=1 bits=41/5/0/17", Pool: 32, MaxTTL: 30 * time.Second, Skew: 2 * time.Second}
	other := pinned
	other.Layout, other.Pool, other.Skew = "epoch=1 bits=41/10/0/12", 1000, time.Second
	sequence := func(worker string) lease.Pin {
		return lease.ParsePin("layout={five bits} worker=" + worker + " max_ahead=1s skew=2s")
	}
	foreign := lease.ParsePin("layout={five bits} workers=3")
	for _, c := range []struct {
		stored, asked lease.Pin
		was, is       string
	}{
		{
			other, pinned, "layout={epoch=1 bits=41/10/0/12} pool=1000",
			"layout={epoch=1 bits=41/5/0/17} pool=32 (the worker ids of the layout less reserved)",
		},
		{sequence("1"), sequence("2"), "worker=1", "worker=2"},
		{foreign, pinned, foreign.String(), pinned.String()},
		{pinned, sequence("1"), pinned.String(), sequence("1").String()},
		{lease.ParsePin(" " + pinned.String()), pinned, " " + pinned.String(), pinned.String()},
		{lease.ParsePin("x"), pinned, "x", pinned.String()},
	} {
		err := &lease.MismatchError{Namespace: "orders", Stored: c.stored, Asked: c.asked}
		require.ErrorContains(t, err, `namespace "orders" is pinned to `+c.was+", but this process asks for "+c.is+": give all members")
	}
}

// After a total loss, a namespace may allow for less than a grant needs.
func TestMismatchOfANamespaceOpenedAnew(t *testing.T) {
	t.Parallel()
	err := &lease.MismatchError{
		Namespace: "orders",
		Stored:    lease.ParsePin("layout={five} pool=32 max_ttl=30s skew=1s"),
		Asked:     lease.ParsePin("layout={five} pool=32 max_ttl=1m0s skew=2s"),
	}
	require.ErrorContains(t, err, "allows for less (MaxTTL or lease.max_ttl 30s, Skew or store.skew 1s) than the grant of this process needs (1m0s, 2s)")
}

// Times are to the second. If the end is further away than any lease, the error points to the page that
// has the steps.
func TestErrorsOfTimesThatNobodyWrites(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 123456789)
	require.NotContains(t, (&lease.ClockError{Center: now, Local: now}).Error(), ".123")
	for d, want := range map[time.Duration]bool{36 * time.Hour: false, 36*time.Hour + time.Millisecond: true, 250 * 365 * 24 * time.Hour: true} {
		for _, err := range []error{
			&lease.QuarantineError{Namespace: "orders", Now: now, Until: now.Add(d)},
			&lease.NoFreeWorkerError{Namespace: "orders", Now: now, Soonest: now.Add(d)},
		} {
			require.Equal(t, want, strings.Contains(err.Error(), "docs/operations.md"), err)
			require.NotContains(t, err.Error(), ".123")
		}
	}
}
