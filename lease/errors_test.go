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

// A pin of worker ids can be changed by init before the first is lent, others cannot.
func TestMismatchNamesInit(t *testing.T) {
	t.Parallel()
	const want = `; if no worker id was ever lent, "snowlease init" with the right configuration changes the pin`
	five, ten := lease.Pin{Layout: "five", Pool: 32}, lease.Pin{Layout: "ten", Pool: 1024}
	require.ErrorContains(t, &lease.MismatchError{Stored: five, Asked: ten}, want)
	sequence := lease.ParsePin("layout={five} worker=1")
	for _, err := range []error{&lease.MismatchError{Stored: sequence, Asked: sequence}, &lease.MismatchError{Stored: lease.Pin{Retired: true}, Asked: ten}} {
		require.NotContains(t, err.Error(), "snowlease init")
	}
}

// If the end is further away than any lease, the error points to the doctor.
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
