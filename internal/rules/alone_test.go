package rules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// TestRenewAlone: a renewal that does not look at other records extends only what is in
// order, and otherwise does all that Renew does.
func TestRenewAlone(t *testing.T) {
	t.Parallel()
	ns, err := Namespace{}.Init("a", request(1))
	require.NoError(t, err)
	ns, g, err := ns.Acquire(now, "a", request(1))
	require.NoError(t, err)
	other := 1 - g.Worker
	slot := func(change func(*Slot)) func(Namespace) Namespace {
		return func(ns Namespace) Namespace { return ns.with(g.Worker, change) }
	}
	meta := func(change func(*Meta)) func(Namespace) Namespace {
		return func(ns Namespace) Namespace { change(&ns.Meta); return ns }
	}
	for name, c := range map[string]struct {
		lose func(Namespace) Namespace
		at   int64
		inc  string
		want bool
	}{
		"nothing lost":                    {at: 5000, want: true},
		"the skew left":                   {at: 8000, want: true},
		"less than the skew left":         {at: 8001},
		"another slot lost":               {lose: func(ns Namespace) Namespace { return ns.WithoutLease(other).WithoutMark(other) }, at: 5000, want: true},
		"its lease lost":                  {lose: func(ns Namespace) Namespace { return ns.WithoutLease(g.Worker) }},
		"its mark lost":                   {lose: func(ns Namespace) Namespace { return ns.WithoutMark(g.Worker) }},
		"a quarantine from its floor on":  {lose: meta(func(m *Meta) { m.Quarantine = g.Floor }), want: true},
		"a quarantine above its floor":    {lose: meta(func(m *Meta) { m.Quarantine = g.Floor + 1 })},
		"the record of the namespace":     {lose: Namespace.WithoutMeta},
		"another layout":                  {lose: meta(func(m *Meta) { m.Pin.Layout = "another" })},
		"another server":                  {inc: "b"},
		"another server, not compared":    {lose: meta(func(m *Meta) { m.Incarnation = "" }), want: true, inc: " "},
		"another owner":                   {lose: slot(func(s *Slot) { s.Owner[0]++ })},
		"another token":                   {lose: slot(func(s *Slot) { s.Token++ })},
		"another floor":                   {lose: slot(func(s *Slot) { s.Floor++ })},
		"fewer worker ids than there are": {lose: func(ns Namespace) Namespace { ns.Slots = ns.Slots[:g.Worker]; return ns }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was, inc := ns, "a"
			if c.lose != nil {
				was = c.lose(ns)
			}
			if c.inc == " " {
				inc = ""
			} else if c.inc != "" {
				inc = c.inc
			}
			require.Equal(t, c.want, was.InOrder(now+c.at, inc, g))
			is, renewed, err := was.RenewAlone(now+c.at, inc, g)
			if !c.want {
				want, grant, wantErr := was.Renew(now+c.at, inc, g)
				require.Equal(t, wantErr, err)
				require.Equal(t, grant, renewed)
				require.True(t, want.Equal(is))
				return
			}
			require.NoError(t, err)
			want := g
			want.Now, want.Ceiling = now+c.at, now+c.at+g.TTL.Milliseconds()
			require.Equal(t, want, renewed)
			require.Equal(t, []int64{want.Ceiling, want.Ceiling}, []int64{is.Slots[g.Worker].Mark, is.Slots[g.Worker].Expires})
			require.True(t, was.Equal(is.with(g.Worker, func(s *Slot) { *s = was.Slots[g.Worker] })), "nothing else has changed")
		})
	}
	t.Run("nothing falls", func(t *testing.T) {
		t.Parallel()
		g := g
		is, renewed, err := ns.RenewAlone(now-5000, "a", g)
		require.NoError(t, err)
		require.Equal(t, g.Ceiling, renewed.Ceiling)
		require.Equal(t, ns.Slots, is.Slots)
		g.TTL = time.Second
		later := ns.with(g.Worker, func(s *Slot) { s.Mark += 5 })
		is, renewed, err = later.RenewAlone(now, "a", g)
		require.NoError(t, err)
		require.Equal(t, g.Ceiling, renewed.Ceiling)
		require.Equal(t, later.Slots, is.Slots)
		_, _, err = ns.WithoutOwners().RenewAlone(now, "a", g)
		require.ErrorIs(t, err, lease.ErrLost)
	})
}
