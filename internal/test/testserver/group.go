package testserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Group is a MySQL group replication. One of three nodes survives the loss of one: the
// others drop a node that does not answer for some seconds. A node that starts again, or
// goes on after a pause, rejoins by itself. A node without a majority answers reads, and
// blocks writes.
type Group struct {
	Nodes []*Server
}

// NewGroup starts a group of one or three nodes for this test. With --group-replication-single-primary-mode=OFF
// among the arguments, which go to all nodes, every node takes writes; otherwise one
// does, at first Nodes[0].
func NewGroup(t testing.TB, nodes int, args ...string) *Group {
	t.Helper()
	g, seeds := &Group{}, []string{}
	for range nodes {
		e := group
		e.command = func(s *Server) []string {
			local := fmt.Sprintf("127.0.0.1:%d", s.port+1)
			argv := append(mysqlEngine.command(s), "--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--report-host=127.0.0.1",
				"--plugin-load-add=group_replication.so", "--group-replication-group-name=aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa",
				"--group-replication-start-on-boot=ON", "--group-replication-local-address="+local, "--group-replication-group-seeds="+strings.Join(append(seeds, local), ","),
				"--group-replication-recovery-get-public-key=ON", "--group-replication-recovery-reconnect-interval=1",
				"--group-replication-member-expel-timeout=0", "--group-replication-poll-spin-loops=0", "--group-replication-message-cache-size=134217728",
			)
			if len(g.Nodes) == 0 {
				argv = append(argv, "--group-replication-bootstrap-group=ON")
			}
			return argv
		}
		s := newServer(t, &e, args)
		g.Nodes, seeds = append(g.Nodes, s), append(seeds, fmt.Sprintf("127.0.0.1:%d", s.port+1))
	}
	return g
}

var group = func() engine {
	e := mysqlEngine
	e.beside, e.replication = []int{1}, nil
	e.create = func(s *Server) error {
		if err := mysqlEngine.create(s); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(s.dir, "init.sql"), []byte(initSQL+
			"CHANGE REPLICATION SOURCE TO SOURCE_USER = 'snowlease', SOURCE_PASSWORD = 'snowlease' FOR CHANNEL 'group_replication_recovery';\n"), 0o644)
	}
	e.ping = func(ctx context.Context, s *Server) error {
		if err := mysqlEngine.ping(ctx, s); err != nil {
			return err
		}
		return s.mysql(ctx, func(db *sql.Conn) error {
			var state string
			var elected bool // a primary takes writes only some time after it is online
			err := db.QueryRowContext(ctx, "SELECT member_state, member_role = 'PRIMARY' AND @@super_read_only FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid").Scan(&state, &elected)
			switch {
			case err != nil:
				return err
			case state != "ONLINE":
				return errors.New("the node is " + state)
			case elected:
				return errors.New("the node is to be the primary, and takes no writes yet")
			}
			return nil
		})
	}
	return e
}()
