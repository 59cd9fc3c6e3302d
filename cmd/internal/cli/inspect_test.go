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

// Each source is a candidate for its ids, and has a plan once it is stated.
func TestInspectSources(t *testing.T) {
	t.Parallel()
	for _, s := range everySource() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			args := []string{"inspect", "-", "--json", "--source", s.Name, "--workers", "1-2,3"}
			if s.Name == "baidu" { // its default epoch has no time left
				s.Layout.Epoch = 1640995200000
				args = append(args, "--epoch", "1640995200000")
			}
			ids := idsOf(t, s, time.Now())
			code, out, errs := call(t, lines(ids), args...)
			require.Zero(t, code, errs)
			var found inspection
			require.NoError(t, json.Unmarshal([]byte(out), &found))
			require.Equal(t, 100, found.IDs)
			require.Zero(t, found.Odd)
			s.Workers = []int64{1, 2, 3}
			want, err := migrate.Make(s, ids, time.Now())
			require.NoError(t, err)
			require.Equal(t, want.YAML("orders"), found.Plan.YAML)
			require.Equal(t, want.Workers, found.Plan.Workers)
			require.Equal(t, !s.Chooses && !s.SequenceFirst, found.Plan.SideBySide)

			code, out, errs = call(t, lines(ids), "inspect", "-")
			require.Equal(t, exitNo, code)
			require.Contains(t, errs, "no plan: what ids look like is not enough")
			require.NotContains(t, out, "workers")
			require.Equal(t, s.Name != "baidu", strings.Contains(out, "\ncandidate: "+s.Name+"\n"))
		})
	}
}

func TestInspectForPeople(t *testing.T) {
	t.Parallel()
	ids := idsOf(t, migrate.Source{Layout: snowflake.Twitter()}, time.Now().Add(-time.Minute))
	source, err := migrate.Named("twitter")
	require.NoError(t, err)
	source.Workers = []int64{1, 2, 3}
	want, err := migrate.Make(source, ids, time.Now())
	require.NoError(t, err)
	rows := "\ufeff\"id\"\n" + ` "` + strings.ReplaceAll(lines(ids), "\n", "\"\r\n\n\"") + `",` + "\n0\n-1\n7\n9000000000000000001\n99999999999999999999\nNULL\n"
	code, out, errs := call(t, "", "inspect", writeFile(t, rows), "--source=twitter", "--workers=1-3")
	require.Zero(t, code, errs)
	require.Equal(t, `ids: 104
odd: 7, such as "id", "99999999999999999999", "NULL", 0, -1, 7, 9000000000000000001

`+want.String()+"\n"+want.YAML("orders"), out)
	require.Contains(t, out, "workers: 4-1023\n")
	require.Contains(t, out, "side by side: yes\n")
	require.Empty(t, errs)
}

func TestInspectSays(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ids := lines(idsOf(t, migrate.Source{Layout: snowflake.Discord()}, now))
	own := migrate.Source{Layout: snowflake.Twitter()}
	own.Layout.Epoch = now.Add(-100 * time.Hour).UnixMilli()
	turned := own
	turned.SequenceFirst = true
	short := migrate.Source{Layout: snowflake.Layout{Epoch: now.UnixMilli() - 1<<38 + 30*24*3600*1000, TimeBits: 38, WorkerBits: 10, SequenceBits: 15}}
	epoch := fmt.Sprint("--epoch=", own.Layout.Epoch)
	for name, c := range map[string]struct {
		in   string
		args []string
		code int
		want []string
	}{
		"nothing stated":      {ids, nil, exitNo, []string{"ids: 100\ncandidate: discord\n", "state --source, or --epoch and --bits"}},
		"another source":      {ids, []string{"--source=twitter", "--workers=1-3"}, exitNo, []string{"as ids of twitter: the newest would be of"}},
		"chosen by itself":    {lines(idsOf(t, migrate.Source{Layout: snowflake.Twitter()}, now)), []string{"--source=hutool"}, 0, []string{"side by side: NO", "hutool chooses worker ids by itself"}},
		"workers not known":   {ids, []string{"--source=discord", "--workers=any"}, 0, []string{"workers: 0-1023", "side by side: NO", "are not stated"}},
		"other workers":       {ids, []string{"--source=discord", "--workers=1,3"}, exitNo, []string{"has worker id 2, which is not stated"}},
		"a layout of its own": {lines(idsOf(t, own, now)), []string{epoch, "--bits=41/10/0/12", "--workers=1-3"}, 0, []string{"from the stated layout: ", "workers: 4-1023"}},
		"its own order":       {lines(idsOf(t, turned, now)), []string{epoch, "--bits=41/10/0/12", "--sequence-first"}, 0, []string{"side by side: NO", "has the sequence above the worker id"}},
		"only numbers":        {"1\n2\n3\n", nil, exitNo, []string{"no plan"}},
		"no ids":              {"id\n\nx1\n", nil, exitFailed, []string{"there are no ids"}},
		"a stream that ends":  {lines(idsOf(t, short, now)), []string{"--bits=38/10/0/15", fmt.Sprint("--epoch=", short.Layout.Epoch), "--workers=any"}, exitNo, []string{"the stream cannot be continued"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call(t, c.in, append([]string{"inspect", "-"}, c.args...)...)
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
