package hostseq

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

type host struct {
	name      string
	pid       int
	addrs     []netip.Prefix // of interfaces that are up, with their network's bits
	outward   netip.Addr     // source address of packets to other hosts; invalid without a route
	identity  string         // differs between hosts as far as possible
	container bool
	dir       string // the default directory
	dirErr    error
	temp      []string // directories that hosts clean up
}

func inspect() host {
	name, _ := os.Hostname()
	h := host{name: name, pid: os.Getpid(), outward: outward(), container: isolated() || inContainer(os.Getenv, exists)}
	macs := []string{}
	interfaces, _ := net.Interfaces() // an error shows up where an address is needed
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		macs = append(macs, i.HardwareAddr.String())
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok {
				addr, _ := netip.AddrFromSlice(n.IP)
				ones, _ := n.Mask.Size()
				h.addrs = append(h.addrs, netip.PrefixFrom(addr.Unmap(), ones))
			}
		}
	}
	slices.Sort(macs)
	machine, _ := os.ReadFile("/etc/machine-id")
	h.identity = strings.Join(append(macs, name, string(machine)), "\n")
	h.dir, h.dirErr = defaultDir(runtime.GOOS, os.Geteuid(), os.Getenv)
	h.temp = []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"}
	return h
}

// outward consults the routing table without sending anything.
func outward() netip.Addr {
	for _, to := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} { // reserved for documentation
		if c, err := net.Dial("udp", to); err == nil {
			defer func() { _ = c.Close() }()
			if from, ok := c.LocalAddr().(*net.UDPAddr); ok {
				return from.AddrPort().Addr().Unmap()
			}
		}
	}
	return netip.Addr{}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func inContainer(env func(string) string, exists func(string) bool) bool {
	return env("KUBERNETES_SERVICE_HOST") != "" || env("container") != "" ||
		exists("/.dockerenv") || exists("/run/.containerenv")
}

// defaultDir returns a directory that survives a restart of the host, unlike /var/lock
// and /tmp, and that only its user can write to. It fails for a service without such a
// directory, because a private /tmp would look like a shared one.
func defaultDir(system string, uid int, env func(string) string) (string, error) {
	home := env("HOME")
	var base string
	switch {
	case system == "windows": // the user's profile is closed to other users
		if base = env("LOCALAPPDATA"); !filepath.IsAbs(base) {
			return "", errors.New("there is no directory for locks and records: %LocalAppData% is not set")
		}
	case uid == 0:
		base = "/var/lib"
	case filepath.IsAbs(env("XDG_STATE_HOME")):
		base = env("XDG_STATE_HOME")
	case !filepath.IsAbs(home):
		return "", errors.New("there is no directory for locks and records: $HOME is not set")
	case system == "darwin":
		base = filepath.Join(home, "Library", "Application Support")
	default:
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "snowlease"), nil
}

// address returns the address for the machine bits, with the bits of its network.
func (h host) address(network string) (netip.Prefix, error) {
	var within []netip.Prefix
	if network != "" {
		n, err := netip.ParsePrefix(network)
		if err != nil {
			return netip.Prefix{}, err
		}
		for _, a := range h.addrs {
			if n.Contains(a.Addr()) {
				within = append(within, netip.PrefixFrom(a.Addr(), n.Bits()))
			}
		}
		if len(within) != 1 {
			return netip.Prefix{}, fmt.Errorf("of this host's addresses %v, %d lie in network %s: set a network that contains exactly one", h.addrs, len(within), network)
		}
		return within[0], nil
	}
	for _, a := range h.addrs {
		if a.Addr() == h.outward && a.Addr().IsPrivate() {
			return a, nil
		}
		if a.Addr().IsPrivate() {
			within = append(within, a)
		}
	}
	if len(within) != 1 {
		return netip.Prefix{}, fmt.Errorf("of this host's addresses %v, %d are private, and none reaches other hosts: set network to that of the right one", h.addrs, len(within))
	}
	return within[0], nil
}

func machine(a netip.Addr, bits uint8) int64 {
	var n int64
	for _, b := range a.AsSlice() {
		n = n<<8&(1<<32-1) | int64(b)
	}
	return n & (1<<bits - 1)
}
