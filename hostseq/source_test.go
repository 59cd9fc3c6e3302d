package hostseq

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// here is a host like many.
func here(t *testing.T) host {
	return host{process: "name\nid\n42", dir: filepath.Join(ownDir(t), "default")}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	container := func(h *host) { h.container = true }
	homeless := func(h *host) { h.dir, h.dirErr = "", errors.New("no $HOME") }
	both := func(h *host) { container(h); homeless(h) }
	for name, test := range map[string]struct {
		cfg      Config
		host     func(*host)
		promise  []string
		warnings int
		fails    []string
	}{
		"nothing is set: the slots of this host": {
			promise: []string{"local (lock in ", "across directories if workers gives each a range of its own", "share directory"}, warnings: 1,
		},
		"a worker is set": {cfg: Config{Worker: worker(5)}, promise: []string{"local (explicit in ", "worker id 5 is configured"}},
		"in a container a directory that is set may be": {cfg: Config{Dir: t.TempDir()}, host: container, promise: []string{"local (lock in ", "share directory"}, warnings: 1},
		"hash":             {cfg: Config{Source: Hash}, promise: []string{"local (hash in ", "not unique", "a probability of 1 in 1024, or in as many as workers has"}, warnings: 1},
		"stateless":        {cfg: Config{Worker: worker(5), Stateless: true}, host: homeless, promise: []string{"local (explicit)", "no record is kept", "set back across a restart"}, warnings: 1},
		"a stateless hash": {cfg: Config{Source: Hash, Stateless: true}, host: homeless, promise: []string{"local (hash)", "not unique", "no record is kept"}, warnings: 1},

		"in a container":             {host: container, fails: []string{"source lock", "set dir", "source explicit"}},
		"in one without $HOME":       {host: both, fails: []string{"no other container sees the default directory: set dir"}},
		"no directory":               {host: homeless, fails: []string{"source lock", "no $HOME"}},
		"a directory that is a file": {cfg: Config{Dir: file}, fails: []string{file, "set dir"}},
		"a directory below a file":   {cfg: Config{Dir: file + "/x"}, fails: []string{file, "set dir"}},
		"by hand, no directory":      {cfg: Config{Worker: worker(1), Dir: file}, fails: []string{"source explicit", "can be stateless"}},
		"a hash, no directory":       {cfg: Config{Source: Hash}, host: homeless, fails: []string{"source hash", "no $HOME", "can be stateless"}},
		"a fault":                    {cfg: Config{Dir: "relative"}, fails: []string{"absolute"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := here(t)
			if test.host != nil {
				test.host(&h)
			}
			c, err := newCenter(test.cfg, snowflake.Wide(), h)
			for _, want := range test.fails {
				require.ErrorContains(t, err, want)
			}
			if test.fails != nil {
				return
			}
			require.NoError(t, err)
			for _, want := range test.promise {
				require.Contains(t, c.Extras().Name+": "+c.Extras().Uniqueness, want)
			}
			require.Len(t, c.Extras().Warnings, test.warnings)
		})
	}
}

// in returns a request for worker ids of a range.
func in(first, last int64) lease.Request {
	req := memcenter.NewRequest("orders", snowflake.Layout{})
	req.First, req.Last, req.Owner, req.Holder = first, last, lease.NewOwner(), "shop"
	return req
}

func TestExplicitOutOfRange(t *testing.T) {
	t.Parallel()
	c, err := newCenter(Config{Worker: worker(5)}, snowflake.Layout{}, here(t))
	require.NoError(t, err)
	for _, req := range []lease.Request{in(6, 9), in(0, 4)} {
		_, err = c.Acquire(t.Context(), req)
		require.ErrorIs(t, err, lease.ErrSetup)
		require.ErrorContains(t, err, "worker 5 is not among")
	}
}

// TestHostsWithRanges: source lock on several hosts lends each the worker ids of its own range.
func TestHostsWithRanges(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for _, first := range []int64{0, 16} {
		h := here(t) // with the hash of the other
		for n := range 17 {
			c, err := newCenter(Config{}, snowflake.Layout{}, h)
			require.NoError(t, err)
			defer c.Close()
			g, err := c.Acquire(t.Context(), in(first, first+15))
			if full := (*lease.NoFreeWorkerError)(nil); n == 16 {
				require.ErrorAs(t, err, &full, "and none of another host's")
				require.Equal(t, []int64{first, first + 15}, []int64{full.First, full.Last})
				continue
			}
			require.NoError(t, err)
			seen[g.Worker] = true
		}
		require.Len(t, seen, int(first)+16)
	}
}

func TestHashDiffers(t *testing.T) {
	t.Parallel()
	numbers := map[int64]bool{}
	for i := range 100 {
		c, err := newCenter(Config{Source: Hash, Stateless: true}, snowflake.Layout{}, host{process: fmt.Sprint("name\n", i)})
		require.NoError(t, err)
		require.GreaterOrEqual(t, c.number, int64(0))
		numbers[c.number] = true
	}
	require.Len(t, numbers, 100)
}

func TestDefaultDir(t *testing.T) {
	t.Parallel()
	local := t.TempDir() // an absolute path
	for name, test := range map[string]struct {
		system string
		uid    int
		env    map[string]string
		want   string
	}{
		"root":            {"linux", 0, map[string]string{"HOME": "/root", "XDG_STATE_HOME": "/x"}, "/var/lib/snowlease"},
		"user":            {"linux", 7, map[string]string{"HOME": "/home/u"}, "/home/u/.local/state/snowlease"},
		"state home":      {"linux", 7, map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "/s"}, "/s/snowlease"},
		"relative state":  {"linux", 7, map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "s"}, "/home/u/.local/state/snowlease"},
		"mac":             {"darwin", 501, map[string]string{"HOME": "/Users/u"}, "/Users/u/Library/Application Support/snowlease"},
		"homeless":        {"linux", 7, nil, ""},
		"relative home":   {"linux", 7, map[string]string{"HOME": "u"}, ""},
		"windows":         {"windows", -1, map[string]string{"LOCALAPPDATA": local, "HOME": "/home/u", "XDG_STATE_HOME": "/s"}, filepath.Join(local, "snowlease")},
		"unknown windows": {"windows", -1, map[string]string{"USERPROFILE": local, "HOME": "/home/u"}, ""},
	} {
		if runtime.GOOS == "windows" && test.system != "windows" {
			continue // its paths are not absolute here
		}
		dir, err := defaultDir(test.system, test.uid, func(k string) string { return test.env[k] })
		require.Equal(t, test.want == "", err != nil, name)
		require.Equal(t, test.want, dir, name)
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	for _, sign := range []string{"", "KUBERNETES_SERVICE_HOST", "container", "/.dockerenv", "/run/.containerenv"} {
		env := func(key string) string { return map[string]string{sign: "x"}[key] }
		require.Equal(t, sign != "", inContainer(env, func(path string) bool { return path == sign }), sign)
	}
	h := inspect()
	name, err := os.Hostname()
	require.NoError(t, err)
	require.Contains(t, h.process, name)
	require.True(t, strings.HasSuffix(h.process, fmt.Sprint("\n", os.Getpid())))
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		`source "disk" is unknown`:                               {Source: "disk"},
		"source \"explicit\" needs a worker":                     {Source: Explicit},
		"worker 32 is not 0 to 31":                               {Worker: worker(32)},
		"worker -1 is not 0 to 31":                               {Worker: worker(-1)},
		"worker 3 is set, but source lock":                       {Worker: worker(3), Source: Lock},
		`dir "/run?" has the control character U+000A at byte 4`: {Dir: "/run\n"},
		`dir "run" is not an absolute path`:                      {Dir: "run"},
		"max_behind -1s":                                         {MaxBehind: -1e9},
		"max_behind 25h":                                         {MaxBehind: 25 * 3600e9},
		"max_behind 300ns is finer":                              {MaxBehind: 300},
		"stateless leaves source lock":                           {Stateless: true},
		"stateless keeps nothing in dir":                         {Stateless: true, Dir: "/x", Worker: worker(1)},
	} {
		require.ErrorContains(t, cfg.Validate(snowflake.Layout{}), want)
	}
	err := Config{Source: "disk", Dir: "run", MaxBehind: -1}.Validate(snowflake.Layout{WorkerBits: 60})
	for _, want := range []string{"worker bits 60", "disk", "run", "max_behind"} {
		require.ErrorContains(t, err, want, "every fault is told")
	}
	for _, good := range []Config{{}, {Worker: worker(31)}, {Source: Explicit, Worker: worker(1)}, {MaxBehind: time.Millisecond}} {
		require.NoError(t, good.Validate(snowflake.Layout{}))
	}
}
