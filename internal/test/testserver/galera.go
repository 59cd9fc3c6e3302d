package testserver

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Galera is a cluster of MariaDBs. The others drop a node that does not answer for
// some seconds. A node that starts again gets what it missed. A node without a quorum
// rejects statements.
type Galera struct {
	Nodes []*Server
	t     testing.TB
	first *Server // starts the cluster anew
}

const galeraProvider = "/usr/lib/galera/libgalera_smm.so" // Debian's path; mariadb-server depends on the package

// NewGalera starts a Galera cluster of one or three nodes for this test. A cluster of
// three survives the loss of one. The arguments go to all nodes.
func NewGalera(t testing.TB, nodes int, args ...string) *Galera {
	t.Helper()
	only(t, &galera)
	if _, err := os.Stat(galeraProvider); err != nil {
		leaveOut(t, galera.name, fmt.Sprintf("%s: %v: install the package %s", galera.name, err, galera.pkg))
	}
	c, peers := &Galera{t: t}, []string{}
	for range nodes {
		e := galera
		e.create = func(s *Server) error {
			if len(c.Nodes) == 0 {
				if err := mariadb.create(s); err != nil {
					return err
				}
			} else if err := errors.Join(os.Mkdir(s.data(), 0o700), shareDir(s.data(), e.runAs)); err != nil { // receives its data from another node
				return err
			}
			return os.WriteFile(filepath.Join(s.dir, "init.sql"), []byte("SET SESSION wsrep_on = OFF;\n"+initSQL), 0o644)
		}
		e.command = func(s *Server) []string {
			addr := func(beside int) string { return fmt.Sprintf("127.0.0.1:%d", s.port+beside) }
			argv := append(mariadb.command(s),
				"--wsrep-on=ON", "--wsrep-provider="+galeraProvider, "--wsrep-cluster-name=test", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
				"--wsrep-node-address="+addr(1), "--wsrep-sst-method=rsync", "--wsrep-sst-receive-address="+addr(3),
				"--wsrep-provider-options=gmcast.listen_addr=tcp://"+addr(1)+"; ist.recv_addr="+addr(2)+"; gcache.size=16M; gmcast.peer_timeout=PT1S; "+
					"evs.keepalive_period=PT0.1S; evs.inactive_check_period=PT0.1S; evs.join_retrans_period=PT0.2S; "+
					"evs.suspect_timeout=PT4S; evs.inactive_timeout=PT10S; evs.install_timeout=PT6S",
				"--wsrep-cluster-address=gcomm://"+strings.Join(peers, ","),
			)
			if s == c.first {
				argv = append(argv, "--wsrep-new-cluster")
			}
			return append(argv, recovered(s, append(argv, s.args...))...)
		}
		s := newServer(t, &e, args)
		c.Nodes = append(c.Nodes, s)
		peers = append(peers, fmt.Sprintf("127.0.0.1:%d", s.port+1))
	}
	return c
}

var galera = func() engine {
	e := mariadb
	e.name, e.pkg, e.beside, e.replication = "Galera", "galera-4", []int{1, 2, 3}, nil
	e.joins = true
	e.programs = append(slices.Clone(e.programs), "rsync", "wsrep_sst_rsync")
	e.version = galeraVersion
	e.runAs = "mysql" // as root, rsync would send and receive as nobody
	e.ping = func(ctx context.Context, s *Server) error {
		if err := mariadb.ping(ctx, s); err != nil {
			return err
		}
		return s.mysql(ctx, func(db *sql.Conn) error {
			var name, state string
			err := db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_local_state_comment'").Scan(&name, &state)
			if err == nil && state != "Synced" {
				err = fmt.Errorf("the node is %s", state)
			}
			return err
		})
	}
	return e
}()

// recovered returns the position at which the data of a killed node end.
func recovered(s *Server, argv []string) []string {
	if _, err := os.Stat(filepath.Join(s.data(), "ibdata1")); err != nil {
		return nil
	}
	log := filepath.Join(s.dir, "recovery.log")
	_ = os.Remove(log)
	if s.run(append(argv, "--wsrep-recover", "--log-error="+log)...) != nil {
		return nil
	}
	text, _ := os.ReadFile(log)
	_, position, found := strings.Cut(string(text), "Recovered position: ")
	if !found {
		return nil
	}
	position, _, _ = strings.Cut(position, "\n")
	return []string{"--wsrep-start-position=" + position}
}

// Kill ends all nodes at once, like a power failure, except that the kernel keeps its buffers.
func (c *Galera) Kill() {
	c.t.Helper()
	for _, f := range []func(*Server){(*Server).Pause, (*Server).Kill} { // otherwise the remaining nodes would notice
		for _, s := range c.Nodes {
			f(s)
		}
	}
}

// Restart starts all nodes after Kill: first the most advanced one, as an operator does, and then
// the others, which take its data. They do not recover their last view, because nodes that were
// about to drop one another when they were killed remember different ones.
func (c *Galera) Restart() {
	c.t.Helper()
	errs, most := make([]error, len(c.Nodes)), int64(-1)
	for i, s := range c.Nodes {
		if err := os.Remove(filepath.Join(s.data(), "gvwstate.dat")); !errors.Is(err, fs.ErrNotExist) {
			errs[i] = err
		}
		argv := s.engine.command(s)
		_, text, _ := strings.Cut(argv[len(argv)-1], ":") // --wsrep-start-position=cluster:transactions
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > most {
			c.first, most = s, n
		}
	}
	defer func() { c.first = nil }()
	if s := c.first; s != nil {
		state := filepath.Join(s.data(), "grastate.dat")
		text, err := os.ReadFile(state)
		if err == nil {
			err = os.WriteFile(state, bytes.Replace(text, []byte("safe_to_bootstrap: 0"), []byte("safe_to_bootstrap: 1"), 1), 0o644)
		}
		errs = append(errs, err)
		s.Start()
	}
	var all sync.WaitGroup
	for i, s := range c.Nodes {
		if s != c.first {
			all.Go(func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				errs[i] = errors.Join(errs[i], s.start())
			})
		}
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatalf("testserver: %v", err)
	}
	c.Await()
}

// Heal has one of some running nodes form a cluster again if none of them finds one for ten seconds, as
// an operator does. On a busy machine, nodes that are slow are dropped until no majority is left.
func (c *Galera) Heal(nodes []*Server) {
	c.t.Helper()
	within(c.t, func(ctx context.Context) error {
		began := time.Now()
		return until(ctx, "the nodes do not find one another", func() (bool, error) {
			first, most := (*Server)(nil), int64(-1)
			for _, s := range nodes {
				var name, status string
				var last int64
				err := s.mysql(ctx, func(db *sql.Conn) error {
					return errors.Join(db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_cluster_status'").Scan(&name, &status),
						db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_last_committed'").Scan(&name, &last))
				})
				if err != nil || status == "Primary" {
					return err == nil, err
				}
				if last > most {
					first, most = s, last
				}
			}
			if time.Since(began) < 10*time.Second {
				return false, nil
			}
			return true, first.mysql(ctx, func(db *sql.Conn) error {
				_, err := db.ExecContext(ctx, "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'")
				return err
			})
		})
	})
}

// Await waits until all nodes are members again and in sync.
func (c *Galera) Await() {
	c.t.Helper()
	c.Heal(c.Nodes)
	within(c.t, func(ctx context.Context) error {
		return until(ctx, "the nodes do not find one another", func() (bool, error) {
			for _, s := range c.Nodes {
				var name, size string
				if err := errors.Join(s.engine.ping(ctx, s), s.mysql(ctx, func(db *sql.Conn) error {
					return db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_cluster_size'").Scan(&name, &size)
				})); err != nil || size != fmt.Sprint(len(c.Nodes)) {
					return false, err
				}
			}
			return true, nil
		})
	})
}
