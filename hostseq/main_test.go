package hostseq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// roleKey is an environment variable that makes the test binary act as an application
// process.
const roleKey = "SNOWLEASE_LOCAL_TEST_ROLE"

func TestMain(m *testing.M) {
	if text := os.Getenv(roleKey); text != "" {
		if err := play(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

type role struct {
	Config Config
	Layout snowflake.Layout
	Offset time.Duration // of its clock
}

type answer struct {
	Grant lease.Grant
	IDs   []int64
	Err   string
}

// play carries out orders until its input ends.
func play(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	now := func() time.Time { return time.Now().Add(r.Offset) }
	center, err := New(r.Config, r.Layout, WithClock(now))
	if err != nil {
		return err
	}
	began := now()
	gen, err := generator.New(r.Layout, generator.WithClock(func() time.Duration { return now().Sub(began) }))
	if err != nil {
		return err
	}
	p := player{Center: center, gen: gen, req: memcenter.NewRequest("orders", r.Layout)}
	p.req.Holder = fmt.Sprint("pid ", os.Getpid())
	for out := json.NewEncoder(os.Stdout); ; {
		var verb string
		var a answer
		if _, err := fmt.Scanln(&verb, &p.ids); err != nil {
			return nil
		}
		if err := p.obey(verb, &a); err != nil {
			a.Err = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// A player is a process that has a generator.
type player struct {
	*Center
	gen  *generator.Generator
	req  lease.Request
	lent generator.Range
	g    lease.Grant
	ids  int // how many to issue
}

func (p *player) obey(verb string, a *answer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	switch verb {
	case "acquire":
		p.req.Owner = lease.NewOwner()
		if p.g, err = p.Acquire(ctx, p.req); err != nil {
			return err
		}
		p.lent = rangeOf(p.g, p.gen.Elapsed())
		_, err = p.gen.Adopt(p.lent)
	case "renew":
		if p.g, err = p.Renew(ctx, p.g); err != nil {
			return err
		}
		next := rangeOf(p.g, p.gen.Elapsed())
		if !p.gen.Extend(p.lent, next) {
			return fmt.Errorf("range %+v does not extend %+v", next, p.lent)
		}
		p.lent = next
	case "ids":
		a.IDs = make([]int64, p.ids)
		err = p.gen.NextIDs(ctx, a.IDs)
	case "release":
		err = p.Release(ctx, p.g, p.gen.Stop())
	}
	a.Grant = p.g
	return err
}

func rangeOf(g lease.Grant, at time.Duration) generator.Range {
	return generator.Range{Worker: g.Worker, Floor: g.Floor, Ceiling: g.Ceiling, Now: g.Now, At: at}
}

type process struct {
	*testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *json.Decoder
}

func start(t *testing.T, r role) *process {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(limit.Context(t), self)
	cmd.Env = append(os.Environ(), roleKey+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{T: t, cmd: cmd, in: in, out: json.NewDecoder(out)}
	t.Cleanup(p.kill)
	return p
}

func (p *process) do(verb string, ids int) answer {
	p.Helper()
	_, err := fmt.Fprintln(p.in, verb, ids)
	require.NoError(p, err)
	var a answer
	require.NoError(p, p.out.Decode(&a))
	return a
}

func (p *process) must(verb string, ids int) answer {
	p.Helper()
	a := p.do(verb, ids)
	require.Empty(p, a.Err)
	return a
}

// kill kills the process and returns when it is gone.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // the error is that of being killed
	}
}

// ownDir returns a directory without links that nobody else can write to, whatever the umask.
func ownDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, errors.Join(err, os.Chmod(dir, 0o700)))
	return dir
}

func worker(n int64) *int64 { return &n }

// narrow is a layout with four slots.
var narrow = snowflake.Layout{WorkerBits: 2}.WithDefaults()
