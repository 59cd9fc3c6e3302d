//go:build prove

package etcdseq_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

// The environment of a process of TestFleet, which is this test binary once more.
const (
	envIDs    = "ETCDSEQ_TEST_IDS" // the file that gets the ids, 8 bytes each, little-endian
	envURLs   = "ETCDSEQ_TEST_URLS"
	envPrefix = "ETCDSEQ_TEST_PREFIX"
	envLast   = "ETCDSEQ_TEST_LAST" // the greatest worker id that it may hold
)

func TestMain(m *testing.M) {
	if file := os.Getenv(envIDs); file != "" {
		if err := serve(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testserver.Main(m)
}

// serve issues ids into the file until the standard input ends, at the latest with the tests.
func serve(file string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	client, err := etcdseq.Open(ctx, etcdseq.Config{Endpoints: strings.Split(os.Getenv(envURLs), ",")})
	if err != nil {
		return err
	}
	defer client.Close()
	center, err := etcdseq.New(client, etcdseq.WithPrefix(os.Getenv(envPrefix)))
	if err != nil {
		return err
	}
	last, err := strconv.ParseInt(os.Getenv(envLast), 10, 64)
	if err != nil {
		return err
	}
	cfg := config(2 * time.Minute)
	cfg.Holder, cfg.Workers.Count = fmt.Sprint(os.Getpid()), last+1
	k, err := snowlease.Open(ctx, center, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	ids, raw := make([]int64, 40), make([]byte, 0, 320)
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if k.NextIDs(ctx, ids) != nil {
			continue
		}
		raw = raw[:0]
		for _, id := range ids {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(id))
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
	}
	stopping, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = k.Stop(stopping) // if a member is away, the lease ends by itself
	return out.Close()
}

// A fleet is processes of one namespace.
type fleet struct {
	t      *testing.T
	urls   []string
	prefix string
	last   int64 // the greatest worker id
	all    []*process
}

// A process is one of a fleet.
type process struct {
	cmd *exec.Cmd
	in  io.Closer
	ids string
	log strings.Builder
}

func (f *fleet) start(many int) []*process {
	f.t.Helper()
	dir := f.t.TempDir()
	for i := range many {
		p := &process{cmd: exec.CommandContext(limit.Context(f.t), os.Args[0]), ids: filepath.Join(dir, fmt.Sprint(i))}
		p.cmd.Env = append(os.Environ(), envIDs+"="+p.ids, envPrefix+"="+f.prefix, envLast+"="+fmt.Sprint(f.last), envURLs+"="+strings.Join(f.urls, ","))
		p.cmd.Stderr = &p.log
		var err error
		p.in, err = p.cmd.StdinPipe()
		require.NoError(f.t, err)
		require.NoError(f.t, p.cmd.Start())
		f.all = append(f.all, p)
	}
	return f.all[len(f.all)-many:]
}

func (f *fleet) signal(sig syscall.Signal, members []*process) {
	f.t.Helper()
	for _, p := range members {
		require.NoError(f.t, p.cmd.Process.Signal(sig))
		if sig == syscall.SIGKILL {
			require.ErrorContains(f.t, p.cmd.Wait(), "signal: killed", p.log.String())
		}
	}
}

// stop ends processes that end by themselves and well.
func (f *fleet) stop(members []*process) {
	f.t.Helper()
	for _, p := range members {
		require.NoError(f.t, p.in.Close())
	}
	for _, p := range members {
		require.NoError(f.t, p.cmd.Wait(), p.log.String())
	}
}

// await waits until as many processes have issued an id later than now, and returns those and
// the others.
func (f *fleet) await(members []*process, many int) (serving, others []*process) {
	f.t.Helper()
	since := time.Now()
	require.Eventually(f.t, func() bool {
		serving, others = nil, nil
		for _, p := range members {
			if ids := p.read(f.t, -8); len(ids) > 0 && at(f.t, ids[0]).After(since) {
				serving = append(serving, p)
			} else {
				others = append(others, p)
			}
		}
		return len(serving) >= many
	}, time.Minute, 50*time.Millisecond, "%d processes serve", many)
	return serving, others
}

func at(t testing.TB, id int64) time.Time {
	t.Helper()
	parts, err := layout.Decode(id)
	require.NoError(t, err)
	return parts.Time
}

// read returns the ids from the offset on, which counts from the end if it is negative.
func (p *process) read(t testing.TB, offset int64) (ids []int64) {
	t.Helper()
	file, err := os.Open(p.ids)
	if errors.Is(err, os.ErrNotExist) { // it has never served
		return nil
	}
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	size := info.Size() / 8 * 8 // a kill may cut off the rest
	if offset < 0 {
		offset = max(0, size+offset)
	}
	raw := make([]byte, size-offset)
	_, err = file.ReadAt(raw, offset)
	require.NoError(t, err)
	for ; len(raw) > 0; raw = raw[8:] {
		ids = append(ids, int64(binary.LittleEndian.Uint64(raw)))
	}
	return ids
}

// collect gives the ids of all processes to a crew, which checks them.
func (f *fleet) collect(c *crew) {
	for i, p := range f.all {
		last := int64(0)
		for _, id := range p.read(f.t, 0) {
			if id <= last {
				c.failed(fmt.Errorf("process %d: id %d after %d", i, id, last))
			}
			last = id
			c.note(uint32(c.members.Load()+1), id)
		}
		c.members.Add(1)
	}
}

// TestFleet runs 40 processes on a pool of 32 worker ids. Processes and the leader of etcd are
// killed and paused.
func TestFleet(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 3)
	t.Run("unique", func(t *testing.T) {
		t.Parallel()
		center := open(t, e.URLs()...)
		require.NoError(t, center.Extras().Init(t.Context(), request()))
		c := newCrew(5 * time.Minute)
		f := &fleet{t: t, urls: e.URLs(), prefix: etcdseq.DefaultPrefix, last: request().Last}
		f.start(40)
		serving, waiting := f.await(f.all, 32)
		require.Eventually(t, func() bool {
			slots, err := center.Extras().Lister.Slots(t.Context(), request().Namespace)
			holders := map[string]bool{}
			for _, s := range slots {
				holders[s.Holder] = true
			}
			return err == nil && len(holders) == 32
		}, time.Minute, 100*time.Millisecond, "each holds one worker id")

		leader := e.Leader()
		leader.Kill()
		f.signal(syscall.SIGKILL, serving[:8])
		alive := slices.Concat(serving[8:], waiting)
		f.await(alive, 32)
		leader.Start()
		e.Await(e.Nodes...)

		leader = e.Leader()
		leader.Pause()
		paused, others := alive[:8], alive[8:]
		f.signal(syscall.SIGSTOP, paused)
		heirs := f.start(8)
		f.await(append(others, heirs...), 28) // some calls wait for the member that hangs
		leader.Resume()
		f.signal(syscall.SIGCONT, paused)
		f.stop(heirs)
		f.await(alive, 32)
		f.stop(alive)
		f.collect(c)
		c.require(t)
		require.Greater(t, c.ids.Load(), int64(100_000))
	})
	// Two prefixes are two pools of the same worker ids, which the check must find. A borrow whose
	// reply is late takes another worker id than the first, so there is one.
	t.Run("two pools are found", func(t *testing.T) {
		t.Parallel()
		e := testserver.NewEtcd(t, 1)
		f := &fleet{t: t, urls: e.URLs()}
		for _, f.prefix = range []string{"one/", "other/"} {
			center, err := etcdseq.New(dial(t, e.URLs()...), etcdseq.WithPrefix(f.prefix))
			require.NoError(t, err)
			require.NoError(t, center.Extras().Init(t.Context(), request()))
			f.start(1)
		}
		require.Eventually(t, func() bool {
			c := newCrew(0)
			f.collect(c)
			return strings.Contains(fmt.Sprint(c.failures), "both use")
		}, time.Minute, 100*time.Millisecond)
		f.stop(f.all)
	})
}
