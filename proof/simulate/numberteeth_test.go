package simulate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/numbers/segment"
)

// What a caller knows prevents many of these faults, so this check is disabled too.
const (
	known    = `if knownTick >= tickOf(quarantine) and (knownTick > tick or (knownTick == tick and knownSeq > seq)) then`
	unheeded = `if false then`
)

// TestSequenceTeeth checks that the seeds of CI find each of these faults.
func TestSequenceTeeth(t *testing.T) {
	for _, tooth := range []struct {
		name    string
		source  Source
		subject Numbers
		rule    Rule
		from    int // the seed to begin with, which found the fault; 0: the first
	}{
		{"a key that is lost is taken for a new one", Sequence, lua(t, `loss = 'nothing is on record for this namespace'`, ``, known, unheeded), Duplicate, 63},
		{"another server is not noticed", Sequence, lua(t, `elseif onChange and run ~= id then`, `elseif false then`, known, unheeded), Duplicate, 116},
		{"ids after a loss without the lead", Sequence, lua(t, `(ahead + 1) * unit + skew`, `unit + skew`, known, unheeded), Duplicate, 63},
		{"ids after a loss without the skew", Sequence, lua(t, `(ahead + 1) * unit + skew`, `(ahead + 1) * unit`, known, unheeded), Duplicate, 53},
		{"a lead without end", Sequence, lua(t, `tickOf(at) + ahead, last)`, `last)`, known, unheeded), Duplicate, 82},
		{"the last value is given again", Sequence, lua(t, `tick, seq + 1`, `tick, seq`), Duplicate, 0},
		{"a full tick goes on in the same", Sequence, lua(t, `first + math.floor((from + n - 1) / per), (from + n - 1) % per`, `first, (from + n - 1) % per`), Duplicate, 0},
		{"a copy issues what both have", Sequence, Numbers{NoReset: true}, Foreign, 35},

		{"a reservation that is not written", SQLSegments, Numbers{SQL: replaced(`MAX(max_id, ?1) + MIN(?2, ?3 - MAX(max_id, ?1))`, `MAX(max_id, ?1) + 1`)}, Duplicate, 0},
		{"one statement reads and another writes", SQLSegments, Numbers{Store: readThenWrite}, Duplicate, 0},
		{"a reservation for the past that is not written", Past, Numbers{SQL: replaced(`MAX(max_id, ?1) + MIN(?2, ?3 - MAX(max_id, ?1))`, `MAX(max_id, ?1) + 1`)}, Duplicate, 0},
		{"one statement reads and another writes, past", Past, Numbers{Store: readThenWrite}, Duplicate, 0},
		{"counters of a store that lost them", Past, Numbers{Store: countingAnyhow}, Duplicate, 0},
		{"times at which a worker id was live", Past, Numbers{Store: countingAlways}, Duplicate, 0},
		{"counters that stay behind when one more worker id is reserved", Past, Numbers{Store: leftBehind}, Duplicate, 0},

		{"a reservation of a series that is not written", Series, Numbers{SQL: replaced(`MAX(max_id, ?1) + MIN(?2, ?3 - MAX(max_id, ?1))`, `MAX(max_id, ?1) + 1`)}, Duplicate, 0},
		{"a series that begins anew for each process of a new day", Series, Numbers{SQL: replaced(`MAX(max_id, ?1)`, `?1`)}, Duplicate, 0},

		{"another server is not noticed, segments", RedisSegments, lua(t, `and h[2] ~= run then`, `and false then`), Duplicate, 41},
		{"a name that is lost is made anew", RedisSegments, lua(t, `if not h[1] then return unknown() end`, `h[1], h[2] = h[1] or '0', h[2] or run`), Duplicate, 0},
		{"a reservation that is half written", RedisSegments, lua(t, `'given', last, 'run'`, `'given', plus(given, 1), 'run'`), Duplicate, 0},
		{"resumed above what is issued, not above what processes have ahead", RedisSegments, Numbers{
			Resume: func(_, issued int64) int64 { return issued },
		}, Duplicate, 30},

		{"neither another server nor what a caller knows is heeded", Dispenser, lua(t,
			`lost = lost or (onChange and h.run ~= run)`, ``,
			`lost = not less(above, plus(h.first, h.used))`, ``,
			`lost = not less(above, h.nfirst)`, ``,
		), Duplicate, 67},
		{"what is given is not noted", Dispenser, lua(t, `elseif count > 0 then redis.call('HSET', key, 'used', str(h.used)) end`, `end`), Duplicate, 0},
	} {
		t.Run(tooth.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, s := range sources {
				if s.of == tooth.source {
					n = s.seeds
				}
			}
			bites(t, tooth.subject, tooth.rule, func(seed int) Plan { return NumberPlans(tooth.source).Example(seed) }, tooth.from, n)
		})
	}
}

// replaced returns a function that replaces rules in a text that contains them.
func replaced(rules ...string) func(string) string { return strings.NewReplacer(rules...).Replace }

// lua is the product with some rules of its scripts replaced.
func lua(t *testing.T, rules ...string) Numbers {
	t.Helper()
	for i := 0; i < len(rules); i += 2 {
		if !strings.Contains(scripts(t), rules[i]) {
			t.Fatalf("%q stands in no script: adapt the broken variant to the code", rules[i])
		}
	}
	return Numbers{Script: replaced(rules...)}
}

// scripts returns the scripts that count numbers.
func scripts(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../numbers/redissegments/*.lua")
	require.NoError(t, err)
	files = append(files, "../../internal/counter/counter.lua")
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

// readThenWrite reserves as many programs do: it reads with one statement and writes
// with another.
func readThenWrite(db *SQLite, _ int) segment.Store { return twoStatements{db} }

type twoStatements struct{ *SQLite }

func (s twoStatements) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	var last int64
	db := s.DB.WithContext(ctx)
	if err := db.Exec("INSERT INTO snowlease_segment (name, first_id, max_id, seen_ms) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING", r.Name, r.Start, r.Start-1).Error; err != nil {
		return numberstore.Range{}, err
	}
	if err := db.Raw("SELECT max_id FROM snowlease_segment WHERE name = ?", r.Name).Scan(&last).Error; err != nil {
		return numberstore.Range{}, err
	}
	if last = max(last, r.Above); last >= r.Max {
		return numberstore.Range{}, segment.ErrEnd
	}
	r.N = min(r.N, r.Max-last)
	if err := db.Exec("UPDATE snowlease_segment SET max_id = ? WHERE name = ?", last+r.N, r.Name).Error; err != nil {
		return numberstore.Range{}, err
	}
	return numberstore.Range{First: last + 1, Last: last + r.N}, nil
}

// countingAlways is a store that claims to have always counted backdated ids.
func countingAlways(db *SQLite, _ int) segment.Store { return always{whole(db)} }

type always struct{ segment.Store }

func (s always) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	if strings.HasPrefix(r.Name, "/since.") {
		long := r.Start / 50 * 49 // months ago, and after the epoch of the layout
		return numberstore.Range{First: long, Last: long}, nil
	}
	r.Beside, r.Family = "", ""
	return s.Store.Reserve(ctx, r)
}

// countingAnyhow is a store that counts backdated ids whatever became of Since.
func countingAnyhow(db *SQLite, _ int) segment.Store { return anyhow{whole(db)} }

type anyhow struct{ segment.Store }

func (s anyhow) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	r.Beside, r.Family = "", ""
	return s.Store.Reserve(ctx, r)
}

// leftBehind starts a new count of backdated ids in a new namespace.
func leftBehind(db *SQLite, _ int) segment.Store { return &behind{Store: whole(db)} }

type behind struct {
	segment.Store
	prefix string
}

func (s *behind) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	if strings.HasSuffix(r.Name, "-2") {
		s.prefix = "2."
	}
	r.Name = s.prefix + r.Name
	if r.Beside != "" {
		r.Beside, r.Family = s.prefix+r.Beside, s.prefix+r.Family
	}
	return s.Store.Reserve(ctx, r)
}

// whole is the product's unchanged store.
func whole(db *SQLite) segment.Store {
	pool, err := db.DB.DB()
	if err != nil {
		panic(err)
	}
	center, err := dbseq.New(pool, dbseq.SQLite)
	if err != nil {
		panic(err)
	}
	return center.Numbers()
}
