package history_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/numbers/history"
	"github.com/snowlease/snowlease/snowflake"
)

// records is a store that can be copied and restored.
type records map[string]int64

func (records) Close() error { return nil }

func (s records) Reserve(_ context.Context, r numberstore.Request) (numberstore.Range, error) {
	if given := s[r.Beside]; r.Beside != "" && (given < r.Given.First || given > r.Given.Last) {
		return numberstore.Range{}, numbers.ErrUnknown
	}
	last, ok := s[r.Name]
	if !ok {
		last = r.Start - 1
	}
	if last = max(last, r.Above); last >= r.Max {
		return numberstore.Range{}, numbers.ErrEnd
	}
	got := numberstore.Range{First: last + 1, Last: last + min(r.N, r.Max-last)}
	s[r.Name] = got.Last
	return got, nil
}

const (
	lead  = 40 * time.Millisecond // by which live ids may be ahead of the clock
	drift = 10 * time.Millisecond // of host clocks, either way
)

// A service lives through eras, each of which begins when the one before has ended. In
// each era, the worker ids that are not reserved issue every possible id.
type service struct {
	testing.TB
	dice     *rand.Rand
	now      time.Time
	store    records
	issuer   *history.Issuer // of the current era
	reserved int64
	eras     []era
	safe     time.Time          // the operator guarantees times before it
	issued   map[int64]struct{} // for past times
	backup   records
	since    time.Time // the earliest time for which ids were issued since the backup
}

type era struct {
	from, to time.Time // of live ids; to is zero in the last
	reserved int64
}

var fewIDs = snowflake.Layout{WorkerBits: 2, SequenceBits: 2}.WithDefaults()

// draw returns a random number from low to high.
func (s *service) draw(low, high int) int { return low + s.dice.IntN(high-low+1) }

// begin ends the current era and begins the next one.
func (s *service) begin(name string, reserved int64) {
	if n := len(s.eras); n > 0 {
		s.eras[n-1].to = s.now.Add(lead)
	}
	s.now = s.now.Add(time.Millisecond)
	if reserved < s.reserved { // ids were issued up to the time of a clock that was ahead; see docs/upgrade.md
		s.now = s.now.Add(drift)
	}
	for id := range s.issued {
		p, err := fewIDs.Decode(id)
		require.NoError(s, err)
		require.False(s, p.Worker < fewIDs.Workers()-reserved && !p.Time.Before(s.now), "%v may be live from %v on", p, s.now)
	}
	s.eras = append(s.eras, era{from: s.now, reserved: reserved})
	s.reserved, s.issuer = reserved, nil
	if reserved == 0 {
		return
	}
	off := time.Duration(s.draw(-int(drift), int(drift)))
	i, err := history.NewOf(s.store, history.Of{
		Namespace: name, Layout: fewIDs, Reserved: reserved, Every: 4 * time.Millisecond, Config: history.Config{Ahead: lead + 2*drift},
	})
	require.NoError(s, err)
	s.issuer = i.At(func() time.Time { return s.now.Add(off) })
	_, err = s.issuer.Since(s.Context())
	require.NoError(s, err)
}

// ask requests ids for a time and reports whether it got any.
func (s *service) ask(at time.Time, backfill bool) bool {
	i := s.issuer
	if backfill {
		i = i.Backfill(s.safe)
	}
	ids := make([]int64, s.draw(1, 3))
	err := i.NextIDsAt(s.Context(), at, ids)
	if errors.Is(err, history.ErrTime) || errors.Is(err, history.ErrFull) {
		return false
	}
	require.NoError(s, err)
	if at.Before(s.since) {
		s.since = at
	}
	for _, id := range ids {
		p, err := fewIDs.Decode(id)
		require.NoError(s, err)
		require.True(s, p.Time.Equal(at), "%v for %v", p, at)
		require.GreaterOrEqual(s, p.Worker, fewIDs.Workers()-s.reserved)
		_, twice := s.issued[id]
		require.False(s, twice, "%v comes twice", p)
		s.issued[id] = struct{}{}
		for _, e := range s.eras {
			live := p.Worker < fewIDs.Workers()-e.reserved && !at.Before(e.from) && (e.to.IsZero() || !at.After(e.to))
			require.False(s, live, "%v was live in an era from %v to %v", p, e.from, e.to)
		}
	}
	return true
}

// However a service raises and lowers Reserved, moves to other databases and restores
// backups, no id for a past time equals another one or an id that a live process can
// have issued. The service only uses Backfill for times for which its guarantee holds.
func TestNoIDTwiceAcrossEras(t *testing.T) {
	t.Parallel()
	made, backfilled := 0, 0
	for seed := range uint64(2000) {
		start := time.UnixMilli(fewIDs.Epoch).Add(time.Hour)
		s := &service{TB: t, dice: rand.New(rand.NewPCG(seed, 0)), now: start, store: records{}, issued: map[int64]struct{}{}, safe: start}
		fresh := 0
		namespace := func() string { fresh++; return fmt.Sprint("orders-", fresh) }
		s.begin(namespace(), int64(s.draw(0, 3)))
		for range s.draw(1, 40) {
			s.now = s.now.Add(time.Duration(s.draw(0, 60)) * time.Millisecond)
			switch what := s.draw(0, 9); {
			case what < 4 && s.issuer != nil: // a late event
				ago := s.draw(-10, 0) // this host's clock may be ahead
				if what > 1 {
					ago = s.draw(0, 150)
				}
				if s.ask(s.now.Add(-time.Duration(ago)*time.Millisecond), what == 0) {
					made++
				}
			case what < 6 && s.issuer != nil: // an older row
				if s.ask(start.Add(-time.Duration(s.draw(-1, 6))*time.Millisecond), true) {
					backfilled++
				}
			case what == 6: // docs/upgrade.md: a new namespace
				s.begin(namespace(), int64(s.draw(0, 3)))
			case what == 7 && s.dice.IntN(2) == 0: // docs/upgrade.md, the counters left behind
				s.store, s.backup, s.safe = records{}, nil, time.UnixMilli(0)
				s.begin("orders-1", s.reserved)
			case what == 7: // docs/upgrade.md, the counters copied
				s.store, s.backup = maps.Clone(s.store), nil
				s.begin(namespace(), s.reserved)
			case what == 8:
				s.backup, s.since = maps.Clone(s.store), s.safe
			case what == 9 && s.backup != nil: // docs/operations.md
				s.store, s.safe = maps.Clone(s.backup), s.since
				maps.DeleteFunc(s.store, func(name string, _ int64) bool { return strings.HasPrefix(name, "/since.") })
				s.begin(fmt.Sprint("orders-", fresh), s.reserved)
			}
		}
	}
	t.Logf("%d calls for late events, %d for older rows", made, backfilled)
	require.Positive(t, made)
	require.Positive(t, backfilled)
}
