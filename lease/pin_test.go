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
		"layout={bits=41/5/0/17} pool=32 max_ttl=30s skew=2s":                              {Layout: "bits=41/5/0/17", Pool: 32, MaxTTL: 30 * time.Second, Skew: 2 * time.Second},
		"layout={a} pool=1 max_ttl=1m0s skew=0s":                                           {Layout: "a", Pool: 1, MaxTTL: time.Minute},
		"layout={a} pool=1 max_ttl=5m0s skew=2s raised_from=30s/1s at=1780000000000":       {Layout: "a", Pool: 1, MaxTTL: 5 * time.Minute, Skew: 2 * time.Second, Change: lease.PinChange{MaxTTL: 30 * time.Second, Skew: time.Second, At: 1780000000000}},
		"layout={a} pool=1 max_ttl=5m0s skew=2s falls_to=30s/1s at=0":                      {Layout: "a", Pool: 1, MaxTTL: 5 * time.Minute, Skew: 2 * time.Second, Change: lease.PinChange{Falls: true, MaxTTL: 30 * time.Second, Skew: time.Second}},
		"layout={a} pool=1 max_ttl=5m0s skew=2s raised_from=6m0s/1s at=0":                  {},
		"layout={a} pool=1 max_ttl=5m0s skew=2s raised_from=0s/0s at=5":                    {},
		"layout={a} pool=1 max_ttl=5m0s skew=2s raised_from=30s at=5":                      {},
		"layout={a} pool=1 max_ttl=5m0s skew=2s raised_from=30s/1s at=05":                  {},
		"layout={a} pool=1 max_ttl=5m0s skew=2s raised_from=30s/1s at=9223372036854775808": {},
		"layout={a} pool=1 max_ttl=5m0s skew=2s raised_from=30s/1s":                        {},
		"layout={a} pool=1 max_ttl=5m0s skew=2s falls_to=30s at=0":                         {},
		"layout={a} pool=1 max_ttl=5m0s skew=2s falls_to=30s/3s at=0":                      {},
		"layout={a} pool=1 max_ttl=5m0s skew=2s at=1":                                      {},
		"layout={a} pool=1 max_ttl=1m0s skew=0s ttl=1s":                                    {},
		"layout={} pool=1 max_ttl=1s skew=1ms} pool=2 max_ttl=3":                           {},
		"layout={a} pool=1 max_ttl=-30s skew=2s":                                           {},
		"layout={a} pool=1 max_ttl=50ms skew=0s":                                           {},
		"layout={a} pool=1 max_ttl=24h0m1s skew=0s":                                        {},
		"layout={a} pool=1 max_ttl=30s skew=16s":                                           {},
		"layout={a} pool=1 max_ttl=30s skew=-2s":                                           {},
		"layout={a} pool=1 max_ttl=1s skew=1µs":                                            {},
		"layout={a} pool=0 max_ttl=30s skew=2s":                                            {},
		"layout={a} pool=1048577 max_ttl=30s skew=2s":                                      {},
		"layout={} pool=1 max_ttl=30s skew=2s":                                             {},
		"retired: moved to orders-2":                                                       {Retired: true, Reason: "moved to orders-2"},
		"retired: ":                                                                        {Retired: true},
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
	require.Equal(t, req.Pin(), lease.ParsePin("layout={a} pool=2 max_ttl=1m0s skew=1s"))
}

// A member raises what the namespace allows for, or keeps it from falling below its own.
func TestJoin(t *testing.T) {
	t.Parallel()
	pin := func(rest string) lease.Pin { return lease.ParsePin("layout={a} pool=2 " + rest) }
	for name, c := range map[string]struct {
		on           string
		maxTTL, skew int
		want         string
	}{
		"less than on record":                     {"max_ttl=30s skew=2s", 20, 1, "max_ttl=30s skew=2s"},
		"a greater MaxTTL":                        {"max_ttl=30s skew=2s", 60, 1, "max_ttl=1m0s skew=2s raised_from=30s/2s at=0"},
		"a greater skew":                          {"max_ttl=30s skew=2s", 20, 3, "max_ttl=30s skew=3s raised_from=30s/2s at=0"},
		"a raise that is new":                     {"max_ttl=1m0s skew=2s raised_from=30s/1s at=7", 60, 2, "max_ttl=1m0s skew=2s raised_from=30s/1s at=7"},
		"more than that":                          {"max_ttl=1m0s skew=2s raised_from=30s/1s at=7", 90, 2, "max_ttl=1m30s skew=2s raised_from=30s/1s at=0"},
		"less than it falls to":                   {"max_ttl=1m0s skew=2s falls_to=30s/1s at=7", 20, 1, "max_ttl=1m0s skew=2s falls_to=30s/1s at=7"},
		"a greater MaxTTL than it falls to":       {"max_ttl=1m0s skew=2s falls_to=30s/1s at=7", 40, 1, "max_ttl=1m0s skew=2s falls_to=40s/1s at=0"},
		"a greater skew than it falls to":         {"max_ttl=1m0s skew=2s falls_to=30s/1s at=7", 20, 2, "max_ttl=1m0s skew=2s falls_to=30s/2s at=0"},
		"all that it falls from":                  {"max_ttl=1m0s skew=2s falls_to=30s/1s at=7", 60, 2, "max_ttl=1m0s skew=2s"},
		"more than it falls from":                 {"max_ttl=1m0s skew=2s falls_to=30s/1s at=7", 90, 1, "max_ttl=1m30s skew=2s raised_from=1m0s/2s at=0"},
		"more skew than a pin that falls has had": {"max_ttl=1m0s skew=2s falls_to=30s/1s at=7", 20, 3, "max_ttl=1m0s skew=3s raised_from=1m0s/2s at=0"},
	} {
		r := lease.Request{Layout: "a", Pool: 2, MaxTTL: time.Duration(c.maxTTL) * time.Second, Skew: time.Duration(c.skew) * time.Second}
		joined, ok := pin(c.on).Join(r)
		require.True(t, ok, name)
		require.Equal(t, pin(c.want).String(), joined.String(), name)
		require.NoError(t, joined.Err(), name)
		again, _ := joined.Join(r)
		require.Equal(t, joined, again, name)
	}
}

// FuzzParsePin checks that a pin keeps the text it was parsed from, so that a store can be
// asked for it, and that two pins are equal if and only if their texts are.
func FuzzParsePin(f *testing.F) {
	for _, s := range []string{
		"", "layout={a} pool=2 max_ttl=1m0s skew=1s", "layout={a} pool=2 max_ttl=60s skew=1s", "layout={a} pool=2 max_ttl=1m0s skew=1s raised_from=30s/1s at=7", "layout={a} pool=2 max_ttl=1m0s skew=1s falls_to=30s/0s at=0", "layout={} pool=0 max_ttl=0s skew=0s",
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
			want := lease.Request{Layout: p.Layout, Pool: p.Pool, MaxTTL: p.MaxTTL, Skew: p.Skew, TTL: p.MaxTTL}.Pin()
			want.Change = p.Change
			require.Equal(t, want, p)
		}
	})
}
