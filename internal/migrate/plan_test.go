package migrate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/snowflake"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// encode makes an old id, with the fields where its generator puts them.
func encode(t *testing.T, s migrate.Source, at time.Time, worker, sequence int64) int64 {
	t.Helper()
	l := s.Layout
	if s.SequenceFirst {
		l.WorkerBits, l.SequenceBits = l.SequenceBits, l.WorkerBits
		worker, sequence = sequence, worker
	}
	id, err := l.Encode(snowflake.Parts{Time: at, Worker: worker, Sequence: sequence})
	require.NoError(t, err)
	p, err := s.Decode(id)
	require.NoError(t, err)
	require.LessOrEqual(t, at.Sub(p.Time), l.TimeUnit)
	return id
}

func named(t *testing.T, name string) migrate.Source {
	t.Helper()
	s, err := migrate.Named(name)
	require.NoError(t, err)
	return s
}

// issue makes ids from a time on, as a process with the plan's configuration does.
func issue(t *testing.T, p migrate.Plan, worker int64, from time.Time, n int) []int64 {
	t.Helper()
	g := generator.New(p.Layout, generator.WithClock(func() time.Duration { return 0 }))
	ms := from.UnixMilli()
	_, err := g.Adopt(generator.Range{Worker: worker, Floor: ms - 1, Ceiling: ms + 600_000, Now: ms})
	require.NoError(t, err)
	ids := make([]int64, n)
	require.NoError(t, g.NextIDs(t.Context(), ids))
	return ids
}

func TestEveryKnownSource(t *testing.T) {
	t.Parallel()
	for _, s := range migrate.Sources() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if s.Name == "baidu" { // its default epoch has no time left
				s.Layout.Epoch = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
			}
			s.Workers = []int64{3, 1, 2}
			// Workers 1 to 3 make ids in the last minute, up to the current tick.
			seen := map[int64]bool{}
			var sample []int64
			for range 3000 {
				at := now.Add(-time.Duration(rand.Int64N(int64(time.Minute))))
				sample = append(sample, encode(t, s, at, 1+rand.Int64N(3), rand.Int64N(1<<s.Layout.SequenceBits)))
			}
			sample = append(sample, encode(t, s, now, 1, 1), encode(t, s, now, 2, 0), encode(t, s, now, 3, 1<<s.Layout.SequenceBits-1))
			for _, id := range sample {
				seen[id] = true
			}
			greatest := slices.Max(sample)
			p, err := migrate.Make(s, sample, now)
			require.NoError(t, err)
			require.NoError(t, p.Layout.Validate())
			require.NoError(t, p.Layout.CheckTime(now))
			require.Equal(t, greatest, p.Last)
			require.Equal(t, []int64{1, 2, 3}, p.Source.Workers)
			require.Empty(t, p.Odd)
			var first, last int64
			_, err = fmt.Sscanf(p.Workers, "%d-%d", &first, &last)
			require.NoError(t, err)

			// After the old processes, ids keep their order and repeat none.
			ids := issue(t, p, first, p.NotBefore, 1000)
			require.Greater(t, ids[0], greatest)
			// Beside them, ids of the same tick repeat none.
			if p.SideBySide {
				require.Greater(t, first, int64(3))
				for _, w := range []int64{first, last} {
					for _, id := range issue(t, p, w, now.Add(-time.Minute), 1000) {
						require.False(t, seen[id])
					}
				}
			}
			require.Equal(t, s.SequenceFirst || s.Chooses, !p.SideBySide)
			require.Contains(t, p.String(), p.Workers)
			sameInYAML(t, p)
		})
	}
}

// sameInYAML decodes the YAML of p strictly, as the tests of the documentation do.
func sameInYAML(t *testing.T, p migrate.Plan) {
	t.Helper()
	var file struct {
		IDWorker idworker.Config `yaml:"idworker"`
	}
	d := yaml.NewDecoder(strings.NewReader(p.YAML("orders")))
	d.KnownFields(true)
	require.NoError(t, d.Decode(&file))
	require.NoError(t, file.IDWorker.Validate())
	require.Equal(t, "orders", file.IDWorker.Namespace)
	require.Equal(t, p.Layout, file.IDWorker.Layout)
	require.EqualValues(t, p.Workers, file.IDWorker.Workers)
}

// The configuration in YAML is valid with a single worker id, business bits and ticks of an hour.
func TestYAML(t *testing.T) {
	t.Parallel()
	hours := migrate.Source{Name: "hours", Workers: []int64{1}, Layout: snowflake.Layout{TimeUnit: time.Hour, TimeBits: 30, WorkerBits: 1, BusinessBits: 2, SequenceBits: 20}}
	p, err := migrate.Make(hours, []int64{encode(t, hours, now, 1, 5)}, now)
	require.NoError(t, err)
	sameInYAML(t, p)
	require.Equal(t, `idworker:
  namespace: "orders"
  layout: {epoch: 1577808000000, time_unit: 1h0m0s, time_bits: 30, worker_bits: 1, business_bits: 2, sequence_bits: 20}
  workers: 0-0 # until the old processes have stopped
  lease: {ttl: 10h0m0s}
`, p.YAML("orders"))
}

func TestWorkersInUse(t *testing.T) {
	t.Parallel()
	yitter := named(t, "yitter")
	sample := []int64{encode(t, yitter, now, 0, 5), encode(t, yitter, now, 1, 5)}
	for inUse, want := range map[int64][]string{
		0:  {"0-63", "stop the old processes first", "the worker ids in use are not stated"},
		60: {"60-63", "must keep to the stated worker ids"},
		64: {"0-63", "all 64 worker ids are in use"},
	} {
		yitter.Workers = nil
		for w := range inUse {
			yitter.Workers = append(yitter.Workers, w)
		}
		p, err := migrate.Make(yitter, sample, now)
		require.NoError(t, err)
		require.Equal(t, inUse == 60, p.SideBySide)
		require.Equal(t, want[0], p.Workers)
		for _, says := range want[1:] {
			require.Contains(t, p.String(), says)
		}
	}
}

// Generators that borrow from the future have ids ahead of the clock.
func TestOldIDsAheadOfNow(t *testing.T) {
	t.Parallel()
	ahead := encode(t, named(t, "yitter"), now.Add(time.Minute), 1, 5)
	p, err := migrate.Make(named(t, "yitter"), []int64{ahead}, now)
	require.NoError(t, err)
	require.Equal(t, now.Add(time.Minute+time.Millisecond), p.NotBefore)
	require.Contains(t, p.String(), "not before: 2026-11-20T12:01:00.001Z")
}

// What the ids contradict has no plan, or none with old and new processes side by side.
func TestContradictions(t *testing.T) {
	t.Parallel()
	// made returns 40 ids of the last minutes, the newest of now.
	made := func(s migrate.Source, worker, sequence func(i int64) int64) (list []int64) {
		for i := range int64(40) {
			list = append(list, encode(t, s, now.Add(time.Duration(i-39)*7*time.Second), worker(i), sequence(i)))
		}
		return list
	}
	always := func(n int64) func(int64) int64 { return func(int64) int64 { return n } }
	upTo := func(n int64) func(int64) int64 { return func(i int64) int64 { return i % n } }
	with := func(s migrate.Source, workers ...int64) migrate.Source {
		s.Workers = workers
		return s
	}
	round := func(ids []int64, to func(int64) int64) (list []int64) {
		for _, id := range ids {
			list = append(list, to(id))
		}
		return list
	}
	own := func(worker, sequence uint8) migrate.Source {
		l := snowflake.Twitter()
		l.WorkerBits, l.SequenceBits = worker, sequence
		return migrate.Source{Name: "own", Layout: l}
	}
	twitter, yitter := named(t, "twitter"), named(t, "yitter")
	pgedge := named(t, "pgedge")
	turned := migrate.Source{Name: "turned", Layout: pgedge.Layout}
	live := made(twitter, always(1), upTo(7))
	for name, c := range map[string]struct {
		source migrate.Source
		ids    []int64
		want   string
	}{
		"an epoch eight hours early":     {with(yitter, 1), made(named(t, "yitter-dotnet"), always(1), always(5)), "8h0m0s ago: the epoch"},
		"an epoch eight hours late":      {with(named(t, "yitter-dotnet"), 1), made(yitter, always(1), always(5)), "8h0m0s ahead of now: the epoch"},
		"the epoch of JavaScript":        {with(migrate.Source{Name: "jssafe", Layout: snowflake.JSSafe()}, 1), made(named(t, "yitter-js"), always(1), always(5)), "8h0m0s ago: the epoch"},
		"no ids":                         {with(twitter, 1), nil, "it has issued none of these"},
		"an archive":                     {with(twitter, 1), round(live, func(id int64) int64 { return id - 3600_000<<22 }), "1h0m0s ago: the epoch"},
		"another worker id":              {with(twitter, 2), live, "has worker id 1, which is not stated"},
		"sequence before worker":         {with(turned, 5), made(pgedge, always(5), upTo(9)), "has worker id 0, which is not stated"},
		"a counter that never moves":     {with(turned, 0), made(pgedge, always(5), always(0)), "all have sequence 5: it may be the worker id"},
		"12 worker bits":                 {with(twitter, 5), made(own(12, 10), always(5), upTo(7)), "has worker id 1, which is not stated"},
		"8 worker bits":                  {with(twitter, 5), made(own(8, 14), always(5), upTo(7)), "has worker id 20, which is not stated"},
		"15 digits of a spreadsheet":     {with(twitter, 1), round(live, func(id int64) int64 { return id / 10000 * 10000 }), "all end with 4 zeros"},
		"what JavaScript prints":         {with(twitter, 1), round(live, func(id int64) int64 { return id / 1000 * 1000 }), "all end with 3 zeros"},
		"a column of floating point":     {with(twitter, 1), round(made(twitter, always(1), func(i int64) int64 { return i * 50 }), func(id int64) int64 { return int64(float64(id)) }), "float64 holds"},
		"floating point, low sequences":  {with(twitter, 1), round(live, func(id int64) int64 { return int64(float64(id)) }), ""},
		"worker ids chosen by MyBatis":   {with(named(t, "mybatis-plus"), 1), live, ""},
		"sequences of 0, and of yitter":  {with(yitter, 1), made(yitter, always(1), always(5)), ""},
		"odd rows in a stream":           {with(twitter, 1), append([]int64{0, -1, 7, 9000000000000000001}, live...), ""},
		"odd rows, ahead by some months": {with(twitter, 1), append([]int64{encode(t, twitter, now.Add(2000*time.Hour), 1, 1)}, live...), "2000h0m0s ahead of now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := migrate.Make(c.source, c.ids, now)
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				require.False(t, p.SideBySide)
				return
			}
			require.NoError(t, err)
			require.Equal(t, !c.source.Chooses, p.SideBySide)
			if len(p.Odd) > 0 {
				require.Equal(t, c.ids[:4], p.Odd)
				require.Equal(t, now.Add(time.Millisecond), p.NotBefore)
			}
		})
	}
}

// 28 bits of seconds, as of Baidu's uid-generator, end within years.
func TestTimeFieldThatEnds(t *testing.T) {
	t.Parallel()
	short := migrate.Source{Name: "short", Layout: snowflake.Layout{Epoch: 1577808000000, TimeUnit: time.Second, TimeBits: 28, WorkerBits: 10, SequenceBits: 12}}
	at := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	id := encode(t, short, at, 1, 1)
	_, err := migrate.Make(short, []int64{id}, at)
	require.ErrorIs(t, err, migrate.ErrNoPlan)
	require.ErrorContains(t, err, "state a wider time field")
	short.Layout.TimeBits = 41
	p, err := migrate.Make(short, []int64{id}, at)
	require.NoError(t, err)
	require.Greater(t, issue(t, p, 5, p.NotBefore, 1)[0], id)

	full := named(t, "baidu")
	at = time.Date(2024, 11, 1, 0, 0, 0, 0, time.UTC)
	_, err = migrate.Make(full, []int64{encode(t, full, at, 1, 1)}, at)
	require.ErrorIs(t, err, migrate.ErrNoPlan)
	require.ErrorContains(t, err, "2024-11-20")
}

func TestSamplesThatAreWrong(t *testing.T) {
	t.Parallel()
	_, err := migrate.Named("snowlease")
	require.ErrorContains(t, err, "the source is unknown: choose baidu, bwmarrin, cosid, cosid-js, default, discord, ")
	_, err = named(t, "yitter").Decode(1 << 60)
	require.ErrorContains(t, err, "is not one of yitter")
	_, err = migrate.Make(migrate.Source{Name: "x", Layout: snowflake.Layout{TimeBits: 60, WorkerBits: 20}}, []int64{1}, now)
	require.ErrorContains(t, err, "layout of x")
	seconds := named(t, "twitter")
	seconds.Layout.Epoch = 1577808000
	_, err = migrate.Make(seconds, []int64{encode(t, seconds, now, 1, 1)}, now)
	require.ErrorContains(t, err, "give Unix milliseconds, as 1577808000000 for 2019-12-31T16:00:00Z")
}

// Ids that Follows allows are in order, and it allows the epoch that it proposes.
func FuzzFollows(f *testing.F) {
	f.Add(uint8(5), uint8(17), uint8(10), uint8(12), int64(1577808000000), int64(1577808000000), uint16(1), uint16(1))
	f.Add(uint8(10), uint8(12), uint8(5), uint8(8), int64(1577808000000), int64(1700000000000), uint16(10), uint16(1))
	f.Add(uint8(2), uint8(6), uint8(4), uint8(4), int64(1577808000003), int64(1577808000003), uint16(10), uint16(10))
	f.Fuzz(func(t *testing.T, w1, s1, w2, s2 uint8, e1, e2 int64, unit1, unit2 uint16) {
		old := snowflake.Layout{Epoch: e1, WorkerBits: w1, SequenceBits: s1, TimeUnit: time.Duration(unit1) * time.Millisecond}
		next := snowflake.Layout{Epoch: e2, WorkerBits: w2, SequenceBits: s2, TimeUnit: time.Duration(unit2) * time.Millisecond}
		if old.Validate() != nil || next.Validate() != nil || old.CheckTime(now) != nil || next.CheckTime(now) != nil {
			return
		}
		err := migrate.Follows(next, old, now)
		last, e := old.Encode(snowflake.Parts{
			Time: now.Add(-time.Millisecond), Worker: old.Workers() - 1, Sequence: old.PerTick() - 1,
		})
		require.NoError(t, e)
		// As in Adopt, a tick that starts before now is not used.
		first, e := next.Encode(snowflake.Parts{Time: now.Add(next.WithDefaults().TimeUnit - time.Millisecond)})
		require.NoError(t, e)
		require.Equal(t, first > last, err == nil, "%d %d", first, last)
		if _, proposal, found := strings.Cut(fmt.Sprint(err), "an epoch of "); found {
			_, e := fmt.Sscanf(proposal, "%d or earlier", &next.Epoch)
			require.NoError(t, e)
			require.NoError(t, migrate.Follows(next, old, now))
			next.Epoch++
			require.Error(t, migrate.Follows(next, old, now), "a later epoch would do")
		}
	})
}

func ExampleMake() {
	old := []int64{1991111111111111111, 1991111111111131113} // SELECT id FROM orders ORDER BY id DESC LIMIT 1000
	source, err := migrate.Named("bwmarrin")
	if err != nil {
		fmt.Println(err)
		return
	}
	source.Workers = []int64{455, 459} // those of the old processes
	plan, err := migrate.Make(source, old, time.Date(2025, 11, 19, 11, 50, 0, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	// Output:
	// from bwmarrin: largest id 1991111111111131113
	// layout: epoch=1288834974657 unit=1ms bits=41/10/0/12, until 2080-07-10T17:30:30.209Z
	// workers: 460-1023
	// not before: 2025-11-19T11:47:36.602Z
	// side by side: yes
	// - old processes must keep to the stated worker ids while new ones run; stop all old processes, plan again with the ids they made, wait until the new "not before", and remove workers from the configuration
}
