package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/migrate"
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

// Each source has a plan for its ids.
func TestInspectSources(t *testing.T) {
	t.Parallel()
	for _, s := range migrate.Sources() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			stated := " | inspect - --workers=1-2,3 --source=" + s.Name
			if s.Name == "baidu" { // its default epoch has no time left
				s.Layout.Epoch = 1640995200000
				stated += " --epoch=1640995200000"
			}
			ids := idsOf(t, s, time.Now())
			s.Workers = []int64{1, 2, 3}
			want, err := migrate.Make(s, ids, time.Now())
			require.NoError(t, err)
			require.Equal(t, !s.Chooses && !s.SequenceFirst, want.SideBySide)
			require.Equal(t, "ids: 100\n\n"+want.String()+"\n"+want.YAML("orders"), in(t).ok(lines(ids)+stated))
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
	require.Equal(t, `ids: 104
odd: 7, such as "id", "99999999999999999999", "NULL", 0, -1, 7, 9000000000000000001

`+want.String()+"\n"+want.YAML("orders"), in(t).ok("inspect --source=twitter --workers=1-3 "+writeFile(t, rows), "workers: 4-1023\n", "side by side: yes\n"))
}

func TestInspectSays(t *testing.T) {
	t.Parallel()
	now := time.Now()
	discord, twitter := migrate.Source{Layout: snowflake.Discord()}, migrate.Source{Layout: snowflake.Twitter()}
	own := twitter
	own.Layout.Epoch = now.Add(-100 * time.Hour).UnixMilli()
	turned := own
	turned.SequenceFirst = true
	ends := migrate.Source{Layout: snowflake.Layout{Epoch: now.UnixMilli() - 1<<38 + 30*24*3600*1000, TimeBits: 38, WorkerBits: 10, SequenceBits: 15}}
	parts := func(s migrate.Source, bits string) string {
		return fmt.Sprintf("--epoch=%d --bits=%s ", s.Layout.Epoch, bits)
	}
	for name, c := range map[string]struct {
		in, arguments string
		code          int
		want          []string
	}{
		"another source":      {lines(idsOf(t, discord, now)), "--source=twitter --workers=1-3", exitNo, []string{"as ids of twitter: the newest would be of"}},
		"chosen by itself":    {lines(idsOf(t, twitter, now)), "--source=hutool", 0, []string{"side by side: NO", "hutool chooses worker ids by itself"}},
		"workers not known":   {lines(idsOf(t, discord, now)), "--source=discord --workers=any", 0, []string{"workers: 0-1023", "side by side: NO", "are not stated"}},
		"other workers":       {lines(idsOf(t, discord, now)), "--source=discord --workers=1,3", exitNo, []string{"has worker id 2, which is not stated"}},
		"a layout of its own": {lines(idsOf(t, own, now)), parts(own, "41/10/0/12") + "--workers=1-3", 0, []string{"from the stated layout: ", "workers: 4-1023"}},
		"its layout only":     {lines(idsOf(t, own, now)), parts(own, "41/10/0/12"), 0, []string{"from the stated layout: ", "workers: 0-1023", "side by side: NO"}},
		"its own order":       {lines(idsOf(t, turned, now)), parts(own, "41/10/0/12") + "--sequence-first", 0, []string{"side by side: NO", "has the sequence above the worker id"}},
		"only numbers":        {"1\n2\n3\n", "--source=twitter --workers=any", exitNo, []string{"it has issued none of these"}},
		"no ids":              {"id\n\nx1\n", "--source=hutool", exitFailed, []string{"there are no ids"}},
		"a stream that ends":  {lines(idsOf(t, ends, now)), parts(ends, "38/10/0/15") + "--workers=any", exitNo, []string{"the stream cannot be continued"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t).exits(c.code, c.in+" | inspect - "+c.arguments, c.want...)
		})
	}
}
