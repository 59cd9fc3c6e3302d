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
	pinned := lease.Pin{Layout: "epoch=1 bits=41/5/0/17", Pool: 32, MaxTTL: 30 * time.Second, Skew: 2 * time.Second, TTL: 30 * time.Second}
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
			other, pinned, "layout={epoch=1 bits=41/10/0/12} pool=1000 skew=1s",
			"layout={epoch=1 bits=41/5/0/17} pool=32 (the worker ids of the layout less reserved) skew=2s",
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

// Among members of one layout, an error names the key to change.
func TestMismatchNamesTheKey(t *testing.T) {
	t.Parallel()
	pin := func(maxTTL, skew, ttl time.Duration) lease.Pin {
		return lease.Pin{Layout: "five", Pool: 32, MaxTTL: maxTTL, Skew: skew, TTL: ttl}
	}
	for want, c := range map[string][2]lease.Pin{
		"TTL of 1m0s, but MaxTTL of this process is 30s: raise it to at least 1m0s":                     {pin(time.Minute, time.Second, time.Minute), pin(30*time.Second, 0, 30*time.Second)},
		"Skew of 20s, more than half of this process's TTL, 30s: raise that to at least 40s":            {pin(time.Minute, 20*time.Second, time.Minute), pin(time.Minute, 0, 30*time.Second)},
		"by a process with a lower MaxTTL or Skew (30s, 1s) than this one has (1m0s, 2s): give all the": {pin(30*time.Second, time.Second, 30*time.Second), pin(time.Minute, 2*time.Second, 30*time.Second)},
	} {
		require.ErrorContains(t, &lease.MismatchError{Namespace: "orders", Stored: c[0], Asked: c[1]}, want)
	}
}

// If the end is further away than any lease, the error points to the page that has the steps.
func TestErrorsOfTimesThatNobodyWrites(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for d, want := range map[time.Duration]bool{36 * time.Hour: false, 36*time.Hour + time.Millisecond: true, 250 * 365 * 24 * time.Hour: true} {
		for _, err := range []error{
			&lease.QuarantineError{Namespace: "orders", Now: now, Until: now.Add(d)},
			&lease.NoFreeWorkerError{Namespace: "orders", Now: now, Soonest: now.Add(d)},
		} {
			require.Equal(t, want, strings.Contains(err.Error(), "docs/operations.md"), err)
		}
	}
}
