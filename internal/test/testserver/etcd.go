package testserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// An Etcd is an etcd of one or more members. It syncs its log to disk.
type Etcd struct {
	Nodes []*Server
	t     testing.TB
	links links

	mu    sync.Mutex
	token string
	joins map[*Server]bool // the next start joins the cluster that exists
}

// NewEtcd starts an etcd of as many members for this test. The arguments go to all members.
// The DSN of a member is the URL for clients.
func NewEtcd(t testing.TB, members int, args ...string) *Etcd {
	t.Helper()
	need(t, &etcd, "")
	c := &Etcd{t: t, token: "etcd-cluster", joins: map[*Server]bool{}}
	type place struct {
		port int
		held reservation
	}
	places, all := make([]place, members), make([]string, members)
	t.Cleanup(c.links.done.Wait) // runs after those of serve
	for i := range places {
		var err error
		for range 5 { // a program that reserves nothing may take the port meanwhile
			if places[i].port, places[i].held, err = freePort(etcd.beside...); err != nil {
				t.Fatal(err)
			}
			if err = c.links.serve(t, places[i].port+1, places[i].port+2); err == nil {
				break
			}
			places[i].held.release()
		}
		if err != nil {
			t.Fatal(err)
		}
		all[i] = member(places[i].port)
	}
	for _, at := range places {
		e := etcd
		e.reserved = func() (int, reservation, error) { return at.port, at.held, nil }
		e.command = func(s *Server) []string {
			return append([]string{
				mustLookup("etcd"), "--data-dir", s.data(), "--logger", "zap", "--log-level", "warn", "--log-outputs", "stderr",
				"--strict-reconfig-check=false",
				"--listen-client-urls", s.DSN(), "--advertise-client-urls", s.DSN(),
				"--listen-peer-urls", fmt.Sprintf("http://127.0.0.1:%d", s.port+2), "--initial-cluster-state", c.state(s),
			}, c.identity(s, all)...)
		}
		c.Nodes = append(c.Nodes, newServer(t, &e, args))
	}
	c.Await(c.Nodes...)
	return c
}

// peerURL is the address for other members, which is that of a proxy.
func peerURL(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port+1) }

// member is a member in --initial-cluster. Its name is the port.
func member(port int) string { return fmt.Sprintf("%d=%s", port, peerURL(port)) }

func (c *Etcd) state(s *Server) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.joins[s] {
		return "existing"
	}
	return "new"
}

// identity are the arguments that etcd and the restore of a snapshot have in common.
func (c *Etcd) identity(s *Server, all []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []string{
		"--name", fmt.Sprint(s.port), "--initial-advertise-peer-urls", peerURL(s.port),
		"--initial-cluster", strings.Join(all, ","), "--initial-cluster-token", c.token,
	}
}

var etcd = engine{
	name: "etcd", pkg: "etcd-server",
	programs: []string{"etcd", "etcdctl"},
	create:   func(s *Server) error { return os.Mkdir(s.data(), 0o700) },
	dsn:      func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) },
	ping: func(ctx context.Context, s *Server) error { // a member without a quorum answers nothing
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr())
		if err != nil {
			return err
		}
		return conn.Close()
	},
	version: func(ctx context.Context, s *Server) (string, error) {
		text, err := s.etcdGet(ctx, "/version")
		var v struct {
			Server string `json:"etcdserver"`
		}
		return "etcd " + v.Server, errors.Join(err, json.Unmarshal(text, &v))
	},
	stop:    syscall.SIGTERM,
	discard: syscall.SIGKILL,
	beside:  []int{1, 2},
}

func (s *Server) etcdGet(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.DSN()+path, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", path, resp.Status, text)
	}
	return text, err
}

// URLs returns the addresses for clients.
func (c *Etcd) URLs() []string {
	var all []string
	for _, s := range c.Nodes {
		all = append(all, s.DSN())
	}
	return all
}

// Await waits until these members answer for the cluster.
func (c *Etcd) Await(members ...*Server) {
	c.t.Helper()
	within(c.t, func(ctx context.Context) error {
		for _, s := range members {
			if err := until(ctx, s.DSN()+" is not healthy", func() (bool, error) {
				_, err := s.etcdGet(ctx, "/health")
				return err == nil, err
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Leader returns the member that leads.
func (c *Etcd) Leader() (leader *Server) {
	c.t.Helper()
	within(c.t, func(ctx context.Context) error {
		return until(ctx, "no member leads", func() (bool, error) {
			for _, s := range c.Nodes {
				if !s.answers() {
					continue
				}
				text, err := s.etcdGet(ctx, "/metrics")
				if err != nil {
					return false, err
				}
				if strings.Contains(string(text), "\netcd_server_is_leader 1\n") {
					leader = s
				}
			}
			return leader != nil, nil
		})
	})
	return leader
}

// Ctl runs etcdctl at a member and returns what it prints.
func (c *Etcd) Ctl(at *Server, args ...string) string {
	c.t.Helper()
	at.do(func(s *Server) error {
		return s.run(append([]string{mustLookup("etcdctl"), "--endpoints", s.DSN()}, args...)...)
	})
	text, err := os.ReadFile(filepath.Join(at.dir, "setup.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// Save writes a snapshot of the cluster to a file, and returns its name.
func (c *Etcd) Save(at *Server) (file string) {
	c.t.Helper()
	file = filepath.Join(c.t.TempDir(), "snapshot.db")
	c.Ctl(at, "snapshot", "save", file)
	return file
}

// Restore ends all members and starts them with the data of a snapshot. A token other than ""
// is the new --initial-cluster-token; without it, the restored cluster has the former id.
func (c *Etcd) Restore(file, token string) {
	c.t.Helper()
	var all []string
	for _, s := range c.Nodes {
		s.Kill()
		s.Wipe()
		all = append(all, member(s.port))
	}
	c.mu.Lock()
	if token != "" {
		c.token = token
	}
	clear(c.joins)
	c.mu.Unlock()
	for _, s := range c.Nodes {
		s.do(func(s *Server) error {
			tool := []string{mustLookup("etcdctl")}
			if path, err := lookup("etcdutl"); err == nil { // since 3.5
				tool = []string{path}
			}
			return s.run(append(append(tool, "snapshot", "restore", file, "--data-dir", s.data()), c.identity(s, all)...)...)
		})
	}
	for _, s := range c.Nodes {
		s.Start()
	}
	c.Await(c.Nodes...)
}

// Isolate cuts a member off from the others. Clients still reach it.
func (c *Etcd) Isolate(s *Server) {
	c.t.Helper()
	c.links.set(c.id(s, c.other(s)), s.port+2, true)
}

// Reconnect ends Isolate, and sends the member no request.
func (c *Etcd) Reconnect(s *Server) {
	c.t.Helper()
	c.links.set(c.id(s, c.other(s)), s.port+2, false)
}

// Heal ends Isolate and waits until the member answers for the cluster.
func (c *Etcd) Heal(s *Server) {
	c.t.Helper()
	c.Reconnect(s)
	c.Await(s)
}

// other returns a member that answers, other than s if there is one.
func (c *Etcd) other(s *Server) *Server {
	for _, o := range c.Nodes {
		if o != s && o.answers() {
			return o
		}
	}
	return s
}

// id returns the id of a member, in hexadecimal.
func (c *Etcd) id(s, at *Server) string {
	c.t.Helper()
	for line := range strings.Lines(c.Ctl(at, "member", "list")) { // id, status, name, ...
		if fields := strings.Split(line, ", "); len(fields) > 3 && strings.Contains(fields[3], peerURL(s.port)) {
			return fields[0]
		}
	}
	c.t.Fatalf("testserver: %s is no member", s.DSN())
	return ""
}

// Rejoin removes a killed member from the cluster, wipes it and lets it join anew. The
// arguments go to etcdctl member add.
func (c *Etcd) Rejoin(s *Server, args ...string) {
	c.t.Helper()
	other := c.other(s)
	c.Ctl(other, "member", "remove", c.id(s, other))
	c.Ctl(other, append([]string{"member", "add", fmt.Sprint(s.port), "--peer-urls=" + peerURL(s.port)}, args...)...)
	c.mu.Lock()
	c.joins[s] = true
	c.mu.Unlock()
	s.Wipe()
	s.Start()
	c.Await(s)
}
