package hostseq

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestOrdinal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int64{
		"orders-0":                      0,
		"orders-31":                     31,
		"my-orders-7":                   7,
		"orders-3.orders.shop.svc":      3,
		"orders-99999999999999999999":   math.MaxInt64,
		"":                              -1,
		"orders":                        -1,
		"orders-":                       -1,
		"orders-x":                      -1,
		"orders-1x":                     -1,
		"orders-01":                     -1,
		"orders-+1":                     -1,
		"-1":                            -1,
		"7":                             -1,
		"orders.shop-3":                 -1,
		"orders-7d9f8b6c5-x2x4z":        -1,
		"orders-\u0663":                 -1, // a digit, but not of ASCII
		"orders-00":                     -1,
		"0123456789ab":                  -1,
		"orders-1 ":                     -1,
		"ip-10-0-1-23.eu.internal.host": 23, // why the source is never the default
	} {
		n, err := ordinal(name)
		if want < 0 {
			require.Error(t, err, name)
			require.ErrorContains(t, err, strconv.Quote(name)[1:len(strconv.Quote(name))-1])
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, want, n, name)
	}
}

func FuzzOrdinal(f *testing.F) {
	for _, s := range []string{"orders-0", "orders-31.svc", "ip-10-0-1-23", "-", "a-01", "a-99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n, err := ordinal(name)
		if err != nil {
			require.Zero(t, n)
			return
		}
		require.GreaterOrEqual(t, n, int64(0))
		pod, _, _ := strings.Cut(name, ".")
		if n < math.MaxInt64 {
			require.True(t, strings.HasSuffix(pod, "-"+strconv.FormatInt(n, 10)), name)
		}
	})
}

// here is a host like many.
func here(t *testing.T) host {
	return host{
		name: "orders-3", pid: 42, identity: "mac\nname\nid",
		addrs:   []netip.Prefix{netip.MustParsePrefix("172.17.0.1/16"), netip.MustParsePrefix("10.1.2.77/24"), netip.MustParsePrefix("fd00::1:2:abcd/64")},
		outward: netip.MustParseAddr("10.1.2.77"),
		dir:     filepath.Join(t.TempDir(), "default"),
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	wide := snowflake.Wide()
	tests := map[string]struct {
		cfg      Config
		host     func(*host)
		want     Source
		first    int64
		last     int64
		promise  string
		warnings []string
	}{
		"nothing is set: the slots of this host": {
			want: Lock, last: 1023, promise: "not unique across hosts", warnings: []string{"on this host"},
		},
		"a worker is set": {
			cfg: Config{Worker: worker(5)}, want: Explicit, first: 5, last: 5, promise: "by hand",
		},
		"in a container a directory that is set may be": {
			cfg: Config{Dir: os.TempDir() + "/x"}, host: func(h *host) { h.container = true },
			want: Lock, last: 1023, promise: "share directory", warnings: []string{"on this host"},
		},
		"in a container addresses may differ": {
			cfg: Config{MachineBits: 8}, host: func(h *host) { h.container = true },
			want: Lock, first: 77 << 2, last: 77<<2 + 3, promise: "last 8 bits", warnings: []string{"containers that use their host's address"},
		},
		"ordinal": {
			cfg: Config{Source: Ordinal}, want: Ordinal, first: 3, last: 3, promise: `the number at the end of host name "orders-3"`,
		},
		"machine bits": {
			cfg:  Config{MachineBits: 8},
			want: Lock, first: 77 << 2, last: 77<<2 + 3, promise: "addresses differ in the last 8 bits (in this host's 10.1.2.77 they are 77)",
		},
		"machine bits of a network": {
			cfg:  Config{MachineBits: 4, Network: "10.1.0.0/16"},
			want: Lock, first: 13 << 6, last: 13<<6 + 63, promise: "last 4 bits", warnings: []string{"4 are fewer than the 16"},
		},
		"all bits are the machine's": {
			cfg:  Config{MachineBits: 10, Network: "fd00::/64"},
			want: Lock, first: 0x3cd, last: 0x3cd, promise: "at most 1", warnings: []string{"10 are fewer than the 64"},
		},
		"the only private address": {
			cfg: Config{MachineBits: 8}, host: func(h *host) { h.outward, h.addrs = netip.Addr{}, h.addrs[1:2] },
			want: Lock, first: 77 << 2, last: 77<<2 + 3, promise: "10.1.2.77",
		},
		"hash": {
			cfg: Config{Source: Hash}, want: Hash, last: 1023,
			promise: "0.00098 among 2 processes, 0.027 among 8, 0.39 among 32", warnings: []string{"never share one"},
		},
		"stateless": {
			cfg: Config{Worker: worker(5), Stateless: true}, want: Explicit, first: 5, last: 5,
			promise: "set back across a restart", warnings: []string{"no record is kept"},
		},
		"a hash without a directory": {
			cfg: Config{Source: Hash}, host: func(h *host) { h.dir, h.dirErr = "", errors.New("$HOME is not set") },
			want: Hash, last: 1023, promise: "no record is kept", warnings: []string{"no record is kept"},
		},
		"a stateless hash": {
			cfg: Config{Source: Hash, Stateless: true}, want: Hash, last: 1023,
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
			first, last, err := c.workers(keeper.NewRequest("orders", wide))
			require.NoError(t, err)
			require.Equal(t, []int64{test.first, test.last}, []int64{first, last})
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
			host: func(h *host) { h.container = true }, want: []string{"source lock", "set dir", "machine_bits", "ordinal"},
		},
		"no directory": {
			host: func(h *host) { h.dir, h.dirErr = "", errors.New("no $HOME") }, want: []string{"source lock", "no $HOME"},
		},
		"a directory that is a file":      {cfg: Config{Dir: file}, want: []string{file, "set dir"}},
		"a directory below a file":        {cfg: Config{Dir: file + "/x"}, want: []string{file, "set dir"}},
		"by hand, no directory":           {cfg: Config{Worker: worker(1), Dir: file}, want: []string{"source explicit", "set stateless"}},
		"an ordinal too great":            {cfg: Config{Source: Ordinal}, host: func(h *host) { h.name = "orders-32" }, want: []string{"ordinal 32", "0 to 31"}},
		"an ordinal greater than a int64": {cfg: Config{Source: Ordinal}, host: func(h *host) { h.name = "orders-99999999999999999999" }, want: []string{"more worker bits"}},
		"two addresses": {
			cfg: Config{MachineBits: 2}, host: func(h *host) { h.outward = netip.Addr{} }, want: []string{"3 are private", "set network"},
		},
		"no address in the network": {cfg: Config{MachineBits: 2, Network: "192.168.0.0/16"}, want: []string{"0 lie in network 192.168.0.0/16"}},
		"no ordinal": {
			cfg: Config{Source: Ordinal}, host: func(h *host) { h.name = "laptop" }, want: []string{"source ordinal", `host name "laptop"`},
		},
		"no private address": {
			cfg:  Config{MachineBits: 2},
			host: func(h *host) { h.addrs = []netip.Prefix{netip.MustParsePrefix("8.8.4.4/24")} },
			want: []string{"source lock", "0 are private", "set network"},
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

func TestWorkerRanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cfg         Config
		first, last int64
		want        []int64 // none: an error
	}{
		"explicit within":                  {Config{Worker: worker(5)}, 5, 9, []int64{5, 5}},
		"explicit without":                 {Config{Worker: worker(5)}, 6, 9, nil},
		"ordinals count from the first":    {Config{Source: Ordinal}, 16, 31, []int64{19, 19}},
		"ordinal past the last":            {Config{Source: Ordinal}, 29, 31, nil},
		"slots that the machine has":       {Config{MachineBits: 2}, 0, 31, []int64{8, 15}},
		"some of the machine's slots":      {Config{MachineBits: 2}, 10, 12, []int64{10, 12}},
		"none of the machine's slots":      {Config{MachineBits: 2}, 16, 31, nil},
		"slots of a host":                  {Config{}, 3, 9, []int64{3, 9}},
		"hashes":                           {Config{Source: Hash}, 3, 9, []int64{3, 9}},
		"explicit below the first of them": {Config{Worker: worker(5)}, 0, 4, nil},
	} {
		c, err := newCenter(test.cfg, snowflake.Layout{}, here(t))
		require.NoError(t, err, name)
		req := keeper.NewRequest("orders", snowflake.Layout{})
		req.First, req.Last = test.first, test.last
		first, last, err := c.workers(req)
		if test.want == nil {
			require.ErrorIs(t, err, lease.ErrSetup, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, test.want, []int64{first, last}, name)
	}
}

// TestHostsWhoseHashAgrees: every other source keeps two hosts apart whose hashes are the
// same.
func TestHostsWhoseHashAgrees(t *testing.T) {
	t.Parallel()
	request := keeper.NewRequest("orders", snowflake.Layout{})
	request.Holder = "shop"
	of := func(cfg Config, n int64) int64 {
		h := here(t) // the same machine id and process id
		h.name = "orders-" + strconv.FormatInt(n, 10)
		h.outward = netip.AddrFrom4([4]byte{10, 1, 2, byte(n)})
		h.addrs = []netip.Prefix{netip.PrefixFrom(h.outward, 24)}
		if cfg.Source == Explicit {
			cfg.Worker = &n
		}
		c, err := newCenter(cfg, snowflake.Layout{}, h)
		require.NoError(t, err)
		defer c.Close()
		request.Owner = lease.NewOwner()
		c.asked = time.Now().Add(-time.Hour)
		g, err := c.Acquire(t.Context(), request)
		require.NoError(t, err)
		return g.Worker
	}
	hash := Config{Source: Hash, Stateless: true}
	require.Equal(t, of(hash, 3), of(hash, 4))
	for name, cfg := range map[string]Config{
		"machine bits": {MachineBits: 3},
		"ordinal":      {Source: Ordinal},
		"by hand":      {Source: Explicit},
	} {
		require.NotEqual(t, of(cfg, 3), of(cfg, 4), name)
	}
}

func TestHashDiffers(t *testing.T) {
	t.Parallel()
	numbers := map[int64]bool{}
	for pid := range 50 {
		for _, identity := range []string{"a", "b"} {
			h := here(t)
			h.pid, h.identity = pid, identity
			c, err := newCenter(Config{Source: Hash, Stateless: true}, snowflake.Layout{}, h)
			require.NoError(t, err)
			require.GreaterOrEqual(t, c.number, int64(0))
			numbers[c.number] = true
		}
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
	require.NotEmpty(t, h.name)
	require.Equal(t, os.Getpid(), h.pid)
	require.Contains(t, h.identity, h.name)
	for _, a := range h.addrs {
		require.True(t, a.IsValid(), "%v", h.addrs)
		require.False(t, a.Addr().IsLoopback(), "%v", h.addrs)
	}
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
		"machine_bits 6 are more":            {MachineBits: 6},
		"machine_bits 2 are set, but":        {MachineBits: 2, Source: Hash},
		`network "10.0.0.1"`:                 {MachineBits: 2, Network: "10.0.0.1"},
		"without machine_bits":               {Network: "10.0.0.0/8"},
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
	for _, good := range []Config{{}, {Worker: worker(31)}, {Source: Explicit, Worker: worker(1)}, {MachineBits: 5, Network: "fd00::/8", MaxBehind: time.Millisecond}} {
		require.NoError(t, good.Validate(snowflake.Layout{}))
	}
}
