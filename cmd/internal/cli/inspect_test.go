package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/migrate"
	"github.com/snowlease/snowlease/snowflake"
)

// idsOf returns ids of three workers of a source, in the order in which they are made. The last
// one is of now.
func idsOf(t *testing.T, s migrate.Source, now time.Time) (list []int64) {
	t.Helper()
	l := s.Layout.WithDefaults()
	if s.SequenceFirst {
		l.WorkerBits, l.SequenceBits = l.SequenceBits, l.WorkerBits
	}
	for i := range 100 {
		p := snowflake.Parts{Time: now.Add(time.Duration(i-99) * time.Second), Worker: int64(1 + i%3), Sequence: int64(i / 50)}
		if s.SequenceFirst {
			p.Worker, p.Sequence = p.Sequence, p.Worker
		}
		id, err := l.Encode(p)
		require.NoError(t, err)
		list = append(list, id)
	}
	return list
}

func lines(ids []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", "\n"), "[]")
}

// Each source is recognized by ids of the last minutes.
func TestInspectSources(t *testing.T) {
	t.Parallel()
	for _, s := range everySource() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			ids := idsOf(t, s, time.Now())
			code, out, errs := call(t, lines(ids), "inspect", "-", "--json", "--ordered")
			require.Zero(t, code, errs)
			var found inspection
			require.NoError(t, json.Unmarshal([]byte(out), &found))
			require.Equal(t, int64(100), found.IDs)
			require.Equal(t, snowflake.ID(ids[0]), found.Least)
			require.Equal(t, snowflake.ID(ids[99]), found.Greatest)
			require.Zero(t, found.Numbers)
			require.Zero(t, found.Repeated)
			fit := found.Fits[0]
			require.Contains(t, strings.Split(fit.Source, ", "), s.Name)
			require.Equal(t, s.Layout.String(), fit.Layout)
			require.Equal(t, []worker{{1, 34}, {2, 33}, {3, 33}}, fit.Workers)
			require.Equal(t, 3, fit.WorkerCount)
			require.Zero(t, *fit.Late)
			plan, err := migrate.Make(s, ids, time.Now())
			require.NoError(t, err)
			require.Equal(t, plan.YAML("orders"), found.Plan.YAML)
			require.Equal(t, plan.Workers, found.Plan.Workers)
			require.Equal(t, plan.SideBySide, found.Plan.SideBySide)
		})
	}
}

func TestInspectForPeople(t *testing.T) {
	t.Parallel()
	file := writeFile(t, " 1991111111111131113\r\n\n1991111111111111111\n1991111111111131113\n1991111111111131112\n")
	code, out, errs := call(t, "", "inspect", file, "--source=bwmarrin", "--ordered")
	require.Zero(t, code, errs)
	require.Equal(t, `ids: 4, from 1991111111111111111 to 1991111111111131113
repeated: 1, such as 1991111111111131113
order: 1 ids are below an earlier one of their worker, the first is 1991111111111131112
layout: bwmarrin: epoch=1288834974657 unit=1ms bits=41/10/0/12
times: 2025-11-19T11:47:36.601Z to 2025-11-19T11:47:36.601Z

WORKER  IDS
459     3
455     1

from bwmarrin: largest id 1991111111111131113, worker ids 455, 459
layout: epoch=1288834974657 unit=1ms bits=41/10/0/12, until 2080-07-10T17:30:30.209Z
workers: 460-1023
not before: 2025-11-19T11:47:36.602Z
side by side: yes
- old processes must keep to the worker ids 455, 459 while new ones run; stop all old processes, plan again with the ids they made, wait until the new "not before", and remove workers from the configuration

idworker:
  namespace: "orders"
  layout: {epoch: 1288834974657, time_unit: 1ms, time_bits: 41, worker_bits: 10, business_bits: 0, sequence_bits: 12}
  workers: 460-1023 # until the old processes have stopped
`, out)
	require.Empty(t, errs)
}

func TestInspectSays(t *testing.T) {
	t.Parallel()
	now := time.Now()
	discord := idsOf(t, migrate.Source{Layout: snowflake.Discord()}, now)
	own := migrate.Source{Layout: snowflake.Twitter()}
	own.Layout.Epoch = now.Add(-time.Hour).UnixMilli()
	short := migrate.Source{Layout: snowflake.Layout{Epoch: now.UnixMilli() - 1<<38 + 30*24*3600*1000, TimeBits: 38, WorkerBits: 10, SequenceBits: 15}}
	elsewhere := migrate.Source{Layout: snowflake.Layout{Epoch: time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), TimeBits: 41, WorkerBits: 10, SequenceBits: 12}}
	var many []int64
	for w := range int64(25) {
		for range w + 1 {
			many = append(many, discord[0]>>22<<22|w<<12)
		}
	}
	for name, c := range map[string]struct {
		in   string
		args []string
		code int
		want []string
	}{
		"several layouts": {lines(discord), nil, 0, []string{
			"layout: discord: epoch=1420070400000", "Other layouts fit too.", "\nSOURCE", "\nbwmarrin, leaf, twitter  ", "order: the ids of each worker rise",
		}},
		"an epoch that nobody gave": {lines(idsOf(t, elsewhere, now)), nil, exitNo, []string{"layout: ", "no plan: was ", "give the --source, --epoch and --bits of its generator"}},
		"old ids": {lines(idsOf(t, migrate.Source{Layout: snowflake.Discord()}, now.Add(-48*time.Hour))), []string{"--epoch", "1420070400000"}, exitNo, []string{
			"no plan: was ", "If so, give --source bwmarrin; if not",
		}},
		"old ids, confirmed": {lines(idsOf(t, migrate.Source{Layout: snowflake.Discord()}, now.Add(-48*time.Hour))), []string{"--source", "discord"}, 0, []string{"from discord: largest id"}},
		"numbers too":        {"1\n200000\n" + lines(discord), nil, 0, []string{"ids: 102, from 1 to ", "\nnumbers: 2, below ", "layout: discord"}},
		"many workers":       {lines(many), []string{"--source=discord"}, 0, []string{"repeated: 300, such as ", "\n24      25\n23      24\n", "\n5       6\n... and 5 more worker ids with fewer ids\n"}},
		"only numbers":       {"1\n2\n3\n", nil, exitNo, []string{"numbers: 3, below", "no layout fits: these are numbers, as AUTO_INCREMENT makes them; new ids of the default layout sort after them"}},
		"its own epoch":      {lines(idsOf(t, own, now)), []string{"--source=bwmarrin", "--epoch", fmt.Sprint(own.Layout.Epoch)}, 0, []string{"layout: bwmarrin: epoch=" + fmt.Sprint(own.Layout.Epoch)}},
		"an epoch for all": {lines(idsOf(t, own, now)), []string{"--epoch", fmt.Sprint(own.Layout.Epoch)}, 0, []string{
			"layout: bwmarrin, cosid, leaf, twitter, discord, wide: epoch=" + fmt.Sprint(own.Layout.Epoch),
		}},
		"of the future": {"9000000000000000000\n" + lines(discord), nil, exitNo, []string{
			"LAYOUT ", fmt.Sprintf("\n%-25s%-21s9000000000000000000\n", "discord", "1"), "no layout fits: if the generator has an epoch, unit or bits of its own",
		}},
		"an id that is none": {"5\n\nx1\n", nil, exitFailed, []string{`line 3: snowflake: parse id "x1" in base 10`}},
		"zero":               {"0\n", nil, exitFailed, []string{"line 1: 0: an id is greater than 0"}},
		"nothing":            {"\n", nil, exitFailed, []string{"there are no ids"}},
		"a stream that ends": {lines(idsOf(t, short, now)), []string{"--source=discord", "--bits=38/10/0/15", "--epoch", fmt.Sprint(short.Layout.Epoch)}, exitNo, []string{"the stream cannot be continued"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call(t, c.in, append([]string{"inspect", "-", "--ordered"}, c.args...)...)
			require.Equal(t, c.code, code, errs)
			for _, want := range c.want {
				require.Contains(t, out+errs, want)
			}
			code, out, _ = call(t, c.in, append([]string{"inspect", "-", "--json"}, c.args...)...)
			require.Equal(t, c.code, code)
			require.Equal(t, code != exitFailed, json.Valid([]byte(out)))
		})
	}
}

// Equal ids of different chunks are not compared.
func TestInspectChunks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	guesses, err := guessesOf("", &layoutFlags{}, now)
	require.NoError(t, err)
	in := inspector{guesses: guesses, now: now}
	for _, id := range []int64{5, 7, 5, 5} {
		require.NoError(t, in.add(id))
	}
	in.compare()
	require.NoError(t, in.add(5))
	in.compare()
	require.Equal(t, int64(2), in.repeated)
	require.Equal(t, []snowflake.ID{5}, in.repeats)
	require.Equal(t, "none in any block of 4194304 ids", inspection{}.repeated(true))
}
