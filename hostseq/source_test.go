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

	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// here is a host like many.
func here(t *testing.T) host {
	return host{process: "mac\nname\nid\n42", dir: filepath.Join(t.TempDir(), "default")}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	wide := snowflake.Wide()
	tests := map[string]struct {
		cfg      Config
		host     func(*host)
		want     Source
		number   int64
		promise  string
		warnings []string
	}{
		"nothing is set: the slots of this host": {
			want: Lock, promise: "across hosts if workers gives each a range of its own", warnings: []string{"if other hosts issue ids too"},
		},
		"a worker is set": {
			cfg: Config{Worker: worker(5)}, want: Explicit, number: 5, promise: "by hand",
		},
		"in a container a directory that is set may be": {
			cfg: Config{Dir: os.TempDir() + "/x"}, host: func(h *host) { h.container = true },
			want: Lock, promise: "share directory", warnings: []string{"if other hosts issue ids too"},
		},
		"hash": {
			cfg: Config{Source: Hash}, want: Hash,
			promise: "0.00098 among 2 processes, 0.027 among 8, 0.39 among 32", warnings: []string{"not unique"},
		},
		"stateless": {
			cfg: Config{Worker: worker(5), Stateless: true}, want: Explicit, number: 5,
			promise: "set back across a restart", warnings: []string{"no record is kept"},
		},
		"a stateless hash": {
			cfg: Config{Source: Hash, Stateless: true}, want: Hash,
			promise: "set back across a restart", warnings: []string{"no record is kept"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := here(t)
			if test.host != nil {
				test.host(&h)
			}
			if test.cfg.Dir != "" {
				test.cfg.Dir = t.TempDir()
			}
			c, err := newCenter(test.cfg, wide, h)
			require.NoError(t, err)
			require.Equal(t, test.want, c.source)
			require.Contains(t, c.Extras().Promise, test.promise)
			require.Len(t, c.Extras().Warnings, len(test.warnings), "%q", c.Extras().Warnings)
			for i, w := range test.warnings {
				require.Contains(t, c.Extras().Warnings[i], w)
			}
			require.Contains(t, c.Extras().Name, string(test.want))
			if test.cfg.Stateless {
				require.NoDirExists(t, h.dir)
			}
			if test.want == Explicit {
				require.Equal(t, test.number, c.number)
			}
		})
	}
}

func TestNoChoice(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, test := range map[string]struct {
		cfg  Config
		host func(*host)
		want []string
	}{
		"in a container": {
			host: func(h *host) { h.container = true }, want: []string{"source lock", "set dir", "source explicit"},
		},
		"no directory": {
			host: func(h *host) { h.dir, h.dirErr = "", errors.New("no $HOME") }, want: []string{"source lock", "no $HOME"},
		},
		"a directory that is a file": {cfg: Config{Dir: file}, want: []string{file, "set dir"}},
		"a directory below a file":   {cfg: Config{Dir: file + "/x"}, want: []string{file, "set dir"}},
		"by hand, no directory":      {cfg: Config{Worker: worker(1), Dir: file}, want: []string{"source explicit", "can be stateless"}},
		"a hash, no directory": {
			cfg: Config{Source: Hash}, host: func(h *host) { h.dir, h.dirErr = "", errors.New("no $HOME") }, want: []string{"source hash", "no $HOME", "can be stateless"},
		},
		"a fault": {cfg: Config{Dir: "relative"}, want: []string{"absolute"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := here(t)
			if test.host != nil {
				test.host(&h)
			}
			_, err := newCenter(test.cfg, snowflake.Layout{}, h)
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestExplicitOutOfRange(t *testing.T) {
	t.Parallel()
	c, err := newCenter(Config{Worker: worker(5)}, snowflake.Layout{}, here(t))
	require.NoError(t, err)
	for _, r := range [][2]int64{{6, 9}, {0, 4}} {
		req := keeper.NewRequest("orders", snowflake.Layout{})
		req.First, req.Last, req.Owner, req.Holder = r[0], r[1], lease.NewOwner(), "shop"
		_, err = c.Acquire(t.Context(), req)
		require.ErrorIs(t, err, lease.ErrSetup)
		require.ErrorContains(t, err, "worker 5 is not among")
	}
}

// TestHostsWhoseHashAgrees: the other sources keep two hosts apart whose hashes are the same.
func TestHostsWhoseHashAgrees(t *testing.T) {
	t.Parallel()
	of := func(cfg Config, host int64) int64 {
		h := here(t) // the same machine id and process id
		if cfg.Source == Explicit {
			cfg.Worker = &host
		}
		c, err := newCenter(cfg, snowflake.Layout{}, h)
		require.NoError(t, err)
		defer c.Close()
		req := keeper.NewRequest("orders", snowflake.Layout{})
		req.Owner, req.Holder = lease.NewOwner(), "shop"
		if cfg.Source == Lock {
			req.First, req.Last = host, host
		}
		c.until = 1 // long ago
		g, err := c.Acquire(t.Context(), req)
		require.NoError(t, err)
		return g.Worker
	}
	hash := Config{Source: Hash, Stateless: true}
	require.Equal(t, of(hash, 3), of(hash, 4))
	for _, source := range []Source{Explicit, Lock} {
		require.NotEqual(t, of(Config{Source: source}, 3), of(Config{Source: source}, 4), source)
	}
}

// TestHostsWithRanges: source lock on several hosts lends each the worker ids of its own range.
func TestHostsWithRanges(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for _, first := range []int64{0, 32} {
		h := here(t)
		req := keeper.NewRequest("orders", snowflake.Wide())
		req.First, req.Last, req.Holder = first, first+31, "shop"
		for range 32 { // processes
			c, err := newCenter(Config{}, snowflake.Wide(), h)
			require.NoError(t, err)
			defer c.Close()
			require.Contains(t, c.Extras().Promise, "a range of its own")
			req.Owner = lease.NewOwner()
			g, err := c.Acquire(t.Context(), req)
			require.NoError(t, err)
			require.True(t, g.Worker >= req.First && g.Worker <= req.Last, g.Worker)
			seen[g.Worker] = true
		}
		c, err := newCenter(Config{}, snowflake.Wide(), h)
		require.NoError(t, err)
		req.Owner = lease.NewOwner()
		_, err = c.Acquire(t.Context(), req)
		var full *lease.NoFreeWorkerError
		require.ErrorAs(t, err, &full, "and none of another host's")
		require.Equal(t, []int64{first, first + 31}, []int64{full.First, full.Last})
	}
	require.Len(t, seen, 64)
}

// TestSlotsOfARange: another range on the same host, such as after a change of workers, leaves the
// files of the former one alone.
func TestSlotsOfARange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(0))
	require.NoError(t, c.Release(t.Context(), s.acquire(c), 0))
	s.pass(time.Minute)
	req := s.request()
	req.First = 2
	g, err := s.center().Acquire(t.Context(), req)
	require.NoError(t, err)
	require.GreaterOrEqual(t, g.Worker, int64(2))
}

func TestHashDiffers(t *testing.T) {
	t.Parallel()
	numbers := map[int64]bool{}
	for i := range 100 {
		h := here(t)
		h.process = fmt.Sprint("mac\n", i)
		c, err := newCenter(Config{Source: Hash, Stateless: true}, snowflake.Layout{}, h)
		require.NoError(t, err)
		require.GreaterOrEqual(t, c.number, int64(0))
		numbers[c.number] = true
	}
	require.Len(t, numbers, 100)
}

func TestCollision(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		n, all int64
		want   float64
	}{{1, 32, 0}, {2, 32, 1. / 32}, {23, 365, 0.5073}, {8, 32, 0.614}, {33, 32, 1}, {1000, 32, 1}} {
		require.InDelta(t, test.want, collision(test.n, test.all), 0.001, "%v", test)
	}
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

func TestInContainer(t *testing.T) {
	t.Parallel()
	in := func(env, file string) bool {
		return inContainer(func(k string) string {
			if k == env {
				return "x"
			}
			return ""
		}, func(path string) bool { return path == file })
	}
	require.False(t, in("", ""))
	require.True(t, in("KUBERNETES_SERVICE_HOST", ""))
	require.True(t, in("container", ""))
	require.True(t, in("", "/.dockerenv"))
	require.True(t, in("", "/run/.containerenv"))
}

// This host is looked at without an error, whatever it is.
func TestInspect(t *testing.T) {
	t.Parallel()
	h := inspect()
	name, err := os.Hostname()
	require.NoError(t, err)
	require.Contains(t, h.process, name)
	require.True(t, strings.HasSuffix(h.process, fmt.Sprint("\n", os.Getpid())))
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		`source "disk" is unknown`:           {Source: "disk"},
		"source \"explicit\" needs a worker": {Source: Explicit},
		"worker 32 is not 0 to 31":           {Worker: worker(32)},
		"worker -1 is not 0 to 31":           {Worker: worker(-1)},
		"worker 3 is set, but source lock":   {Worker: worker(3), Source: Lock},
		`dir "run" is not an absolute path`:  {Dir: "run"},
		"max_behind -1s":                     {MaxBehind: -1e9},
		"max_behind 25h":                     {MaxBehind: 25 * 3600e9},
		"max_behind 300ns is finer":          {MaxBehind: 300},
		"stateless leaves source lock":       {Stateless: true},
		"stateless keeps nothing in dir":     {Stateless: true, Dir: "/x", Worker: worker(1)},
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
