package lease_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// What a store says reaches neither a terminal nor a log as it is, nor in full.
func TestErrorsWithTextsOfTheStore(t *testing.T) {
	t.Parallel()
	hostile := "\x1b[2J\x1b]0;owned\a\nlevel=ERROR msg=forged\u202e" + strings.Repeat("A", 1<<20)
	_, pin := lease.ParsePin(hostile)
	_, retired := lease.ParsePin(lease.RetiredPin(hostile))
	for name, err := range map[string]error{
		"quarantine": &lease.QuarantineError{Namespace: "orders", Reason: hostile, Now: time.Now(), Until: time.Now()},
		"mismatch":   &lease.MismatchError{Namespace: "orders", Stored: hostile, Asked: "a"},
		"retired":    &lease.MismatchError{Namespace: "orders", Stored: lease.RetiredPin(hostile), Asked: "a"},
		"pin":        pin,
		"retiredpin": retired,
	} {
		text := err.Error()
		require.Less(t, len(text), 1000, name)
		require.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %q", name, text)
		require.Contains(t, text, "bytes)", name)
	}
}

// Where the end lies beyond the longest lease, waiting is no advice.
func TestErrorsOfTimesThatNobodyWrites(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for d, want := range map[time.Duration]bool{36 * time.Hour: false, 36*time.Hour + time.Millisecond: true, 250 * 365 * 24 * time.Hour: true} {
		for _, err := range []error{
			&lease.QuarantineError{Namespace: "orders", Now: now, Until: now.Add(d)},
			&lease.NoFreeWorkerError{Namespace: "orders", Now: now, Soonest: now.Add(d)},
		} {
			require.Equal(t, want, strings.Contains(err.Error(), `"snowlease doctor"`), err)
		}
	}
}
