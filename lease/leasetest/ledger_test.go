package leasetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// failures counts the errors of a ledger.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.n++ }

func TestLedger(t *testing.T) {
	t.Parallel()
	grant := func(worker int64, owner byte, floor, ceiling int64) lease.Grant {
		return lease.Grant{Request: lease.Request{Owner: [16]byte{owner}}, Worker: worker, Floor: floor, Ceiling: ceiling}
	}
	for name, c := range map[string]struct {
		next lease.Grant
		want int
	}{
		"after":                {grant(0, 2, 20, 30), 0},
		"before":               {grant(0, 2, 5, 10), 0},
		"one millisecond":      {grant(0, 2, 19, 30), 1},
		"within":               {grant(0, 2, 12, 15), 1},
		"around":               {grant(0, 2, 5, 30), 1},
		"another worker":       {grant(1, 2, 10, 20), 0},
		"renewed":              {grant(0, 1, 10, 30), 0},
		"the same owner again": {grant(0, 1, 15, 30), 1},
	} {
		f := &failures{TB: t}
		l := &ledger{t: f}
		l.lent(grant(0, 1, 10, 20))
		l.lent(c.next)
		require.Equal(t, c.want, f.n, name)
	}

	f := &failures{TB: t}
	l := &ledger{t: f}
	l.lent(grant(0, 1, 10, 20))
	l.stopped(grant(0, 1, 10, 20), 12)
	require.EqualValues(t, 12, l.lowest(0))
	l.lent(grant(0, 2, 12, 20))
	require.Zero(t, f.n, "the rest was given back")
	l.lent(grant(0, 3, 11, 12))
	require.Equal(t, 1, f.n, "the range was used up to there")
	require.Equal(t, 3, l.loans())
}
