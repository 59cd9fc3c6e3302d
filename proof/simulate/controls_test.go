package simulate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/proof/internal/controls"
)

var update = flag.Bool("update", false, "write the table of TestControls into docs/design/proof.md")

const proofPage = "../../docs/design/proof.md"

// TestControls puts the product and widely used schemes through the same trials. The
// product passes each trial. Each scheme issues duplicate ids in the trials that name it.
func TestControls(t *testing.T) {
	schemes := controls.Schemes()
	cells := make([][]int, len(trials))
	t.Run("trial", func(t *testing.T) { // returns when its parallel subtests have
		for i, trial := range trials {
			cells[i] = make([]int, len(schemes))
			for j, s := range schemes {
				t.Run(trial.name+"/"+s.Name, func(t *testing.T) {
					t.Parallel()
					r := Run(t, trial.plan, control(s))
					require.NoError(t, r.Err)
					require.NotZero(t, r.IDs)
					cells[i][j] = r.Broken[Duplicate]
					require.Equal(t, trial.breaks(s.Name), cells[i][j] > 0, "%d duplicate ids; %v", cells[i][j], r.Violations)
				})
			}
			for _, store := range []string{"redis", "sqlite", "etcd"} {
				t.Run(trial.name+"/snowlease on "+store, func(t *testing.T) {
					t.Parallel()
					r := Run(t, trial.plan, stores[store])
					require.True(t, r.OK(), "%s", r)
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	for j, s := range schemes {
		broken := 0
		for i := range trials {
			broken += min(1, cells[i][j])
		}
		require.Positive(t, broken, "%s is broken by nothing: it shows nothing", s.Name)
		require.Less(t, broken, len(trials), "%s is broken by everything, good weather too: it shows nothing", s.Name)
	}

	text, err := os.ReadFile(proofPage)
	require.NoError(t, err)
	before, rest, begun := strings.Cut(string(text), "<!-- controls: begin -->\n")
	_, after, ended := strings.Cut(rest, "<!-- controls: end -->")
	require.True(t, begun && ended, "the marks of the table are gone")
	want := before + "<!-- controls: begin -->\n" + table(schemes, cells) + "<!-- controls: end -->" + after
	if *update {
		require.NoError(t, os.WriteFile(proofPage, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "docs/design/proof.md is not what came out: go test -run TestControls -update .")
}

// table has a row for each trial and a column for each scheme.
func table(schemes []controls.Scheme, cells [][]int) string {
	var b strings.Builder
	b.WriteString("| |")
	for _, s := range schemes {
		fmt.Fprintf(&b, " %s |", s.Title)
	}
	b.WriteString(" snowlease (Redis, SQL, etcd) |\n|---|" + strings.Repeat("--:|", len(schemes)+1) + "\n")
	b.WriteString("| known from |")
	for _, s := range schemes {
		fmt.Fprintf(&b, " %s |", s.Known)
	}
	b.WriteString(" |\n")
	for i, trial := range trials {
		fmt.Fprintf(&b, "| %s |", trial.title)
		for _, n := range cells[i] {
			if n > 0 {
				fmt.Fprintf(&b, " **%d** |", n)
			} else {
				b.WriteString(" unique |")
			}
		}
		b.WriteString(" unique |\n")
	}
	return b.String()
}

// control makes a scheme the subject of a run. Its processes use the wall clocks of
// their hosts.
func control(s controls.Scheme) WorkerIDs {
	subject := WorkerIDs{
		Store: NewRedis,
		Center: func(store Store, h *Host) (lease.Center, error) {
			return s.New(controls.Backend{Redis: store.(*Redis).Client}, h.Wall), nil
		},
		Process: walled,
	}
	if s.Store == controls.SQL {
		subject.Store = newTickets
		subject.Center = func(store Store, h *Host) (lease.Center, error) {
			return s.New(controls.Backend{DB: store.(tickets).DB}, h.Wall), nil
		}
	}
	return subject
}

// walled is a process whose grants carry the host's time of their arrival there, not
// of the reply.
func walled(h *Host) (Process, error) {
	c := h.Center
	now := func(g lease.Grant, err error) (lease.Grant, error) {
		g.Now = h.Wall().UnixMilli()
		return g, err
	}
	h.Center = odd{
		Center:  c,
		acquire: func(ctx context.Context, req lease.Request) (lease.Grant, error) { return now(c.Acquire(ctx, req)) },
		renew:   func(ctx context.Context, g lease.Grant) (lease.Grant, error) { return now(c.Renew(ctx, g)) },
	}
	return NewProcess(h)
}

// tickets is SQLite with the table of the scheme that uses one.
type tickets struct{ *SQLite }

func newTickets() (Store, error) {
	s, err := NewSQLite()
	if err != nil {
		return nil, err
	}
	return tickets{s.(*SQLite)}, nil
}

func (s tickets) Lose(what Kind, worker int64) error {
	err := s.SQLite.Lose(what, worker)
	if what == Wipe { // as TRUNCATE does
		err = errors.Join(err, s.DB.Exec("DELETE FROM controls_ticket").Error,
			s.DB.Exec("DELETE FROM sqlite_sequence WHERE name = 'controls_ticket'").Error)
	}
	return err
}
