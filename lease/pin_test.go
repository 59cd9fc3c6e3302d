package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The keys are texts that stores have on record.
func TestPin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lease.Pin{
		"layout={bits=41/5/0/17} pool=32 max_ttl=30s skew=2s ttl=20s": {Layout: "bits=41/5/0/17", Pool: 32, MaxTTL: 30 * time.Second, Skew: 2 * time.Second, TTL: 20 * time.Second},
		"layout={a} pool=1 max_ttl=1m0s skew=0s ttl=1s":               {Layout: "a", Pool: 1, MaxTTL: time.Minute, TTL: time.Second},
		"layout={a} pool=1 max_ttl=1m0s skew=0s":                      {},
		"layout={a} pool=1 max_ttl=30s skew=2s ttl=31s":               {},
		"layout={a} pool=1 max_ttl=30s skew=2s ttl=3s":                {},
		"layout={} pool=1 max_ttl=1s skew=1ms} pool=2 max_ttl=3":      {},
		"layout={a} pool=1 max_ttl=-30s skew=2s ttl=-30s":             {},
		"layout={a} pool=1 max_ttl=50ms skew=0s ttl=50ms":             {},
		"layout={a} pool=1 max_ttl=24h0m1s skew=0s ttl=24h0m1s":       {},
		"layout={a} pool=1 max_ttl=30s skew=16s ttl=30s":              {},
		"layout={a} pool=1 max_ttl=30s skew=-2s ttl=30s":              {},
		"layout={a} pool=1 max_ttl=1s skew=1µs ttl=1s":                {},
		"layout={a} pool=0 max_ttl=30s skew=2s ttl=30s":               {},
		"layout={a} pool=1048577 max_ttl=30s skew=2s ttl=30s":         {},
		"layout={} pool=1 max_ttl=30s skew=2s ttl=30s":                {},
		"retired: moved to orders-2":                                  {Retired: true, Reason: "moved to orders-2"},
		"retired: ":                                                   {Retired: true},
	} {
		p := lease.ParsePin(text)
		require.Equal(t, text, p.String())
		if want != (lease.Pin{}) {
			require.Equal(t, want, p)
			require.Equal(t, p.Retired, p.Err() != nil)
		} else {
			require.ErrorContains(t, p.Err(), "is not a valid pin")
		}
	}
	req := lease.Request{Layout: "a", Pool: 2, MaxTTL: time.Minute, Skew: time.Second, TTL: 30 * time.Second}
	require.Equal(t, req.Pin(), lease.ParsePin("layout={a} pool=2 max_ttl=1m0s skew=1s ttl=30s"))
}

// FuzzParsePin checks that a pin keeps the text it was parsed from, so that a store can be
// asked for it, and that two pins are equal if and only if their texts are.
func FuzzParsePin(f *testing.F) {
	for _, s := range []string{
		"", "layout={a} pool=2 max_ttl=1m0s skew=1s ttl=1m0s", "layout={a} pool=2 max_ttl=60s skew=1s ttl=60s", "layout={} pool=0 max_ttl=0s skew=0s",
		"layout={a} pool=02 max_ttl=1m0s skew=1s", "layout={x} pool=9 max_ttl=1s skew=1s} pool=2 max_ttl=1m0s skew=1s", "retired: ", "retired: x", "retired:",
		"layout={a} worker=3 max_ahead=1s skew=2s",
	} {
		f.Add(s, s+" ")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		p, q := lease.ParsePin(a), lease.ParsePin(b)
		if len(a) <= 1024 {
			require.Equal(t, a, p.String())
		}
		if len(b) <= 1024 {
			require.Equal(t, a == b, p == q)
		}
		if p.Err() == nil {
			require.Equal(t, p, lease.Request{Layout: p.Layout, Pool: p.Pool, MaxTTL: p.MaxTTL, Skew: p.Skew, TTL: p.TTL}.Pin())
		}
	})
}
