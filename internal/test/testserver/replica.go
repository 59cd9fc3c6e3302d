package testserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// replication describes how a server of one kind follows another.
type replication struct {
	follow  func(ctx context.Context, s, primary *Server) error // returns when s has all data of primary
	cut     func(ctx context.Context, s *Server) error
	promote func(ctx context.Context, s *Server) error
}

// NewRedisReplica starts a Redis that follows primary.
func NewRedisReplica(t testing.TB, primary *Server, args ...string) *Server {
	t.Helper()
	s := NewRedis(t, args...)
	s.Follow(primary)
	return s
}

// NewMariaDBPrimary starts a MariaDB like NewMariaDB that others can follow by GTID. Its
// binlog_format is the server's default.
func NewMariaDBPrimary(t testing.TB, args ...string) *Server {
	t.Helper()
	return NewMariaDB(t, append([]string{"--log-bin=binlog", "--log-slave-updates"}, args...)...)
}

// NewMariaDBReplica starts a MariaDB that follows primary, which NewMariaDBPrimary made.
// The replica can be followed itself.
func NewMariaDBReplica(t testing.TB, primary *Server, args ...string) *Server {
	t.Helper()
	s := NewMariaDBPrimary(t, args...)
	s.Follow(primary)
	return s
}

// Follow makes a Redis or MariaDB a replica of primary, and returns when it has all data
// of primary. It also ends a CutLink. A former primary can follow too: a Redis then loses
// the data that only it has, and a MariaDB with more data than primary fails the test.
func (s *Server) Follow(primary *Server) {
	s.t.Helper()
	s.replicate(func(ctx context.Context, r replication) error { return r.follow(ctx, s, primary) })
}

// CutLink stops a replica from receiving what its primary writes. The replica still
// answers with the data it has; Pause stops it completely.
func (s *Server) CutLink() {
	s.t.Helper()
	s.replicate(func(ctx context.Context, r replication) error { return r.cut(ctx, s) })
}

// Promote makes a replica a primary that takes writes. It does not inform the former
// primary: stop that first, or there are two.
func (s *Server) Promote() {
	s.t.Helper()
	s.replicate(func(ctx context.Context, r replication) error { return r.promote(ctx, s) })
}

func (s *Server) replicate(f func(context.Context, replication) error) {
	s.t.Helper()
	s.do(func(s *Server) error {
		if s.engine.replication == nil {
			return errors.New("there are no replicas of this engine here")
		}
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		return f(ctx, *s.engine.replication)
	})
}

// until asks repeatedly until the answer is yes. If an error persists, it is reported
// with that of ctx.
func until(ctx context.Context, what string, yes func() (bool, error)) error {
	for {
		ok, err := yes()
		if ok && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: %w", what, ctx.Err()), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

var redisReplication = replication{
	follow: func(ctx context.Context, s, primary *Server) error {
		return s.redis(func(c *goredis.Client) error {
			if err := c.ReplicaOf(ctx, "127.0.0.1", strconv.Itoa(primary.port)).Err(); err != nil {
				return err
			}
			return primary.redis(func(p *goredis.Client) error {
				return until(ctx, "the replica does not catch up", func() (bool, error) {
					theirs, err1 := replicationInfo(ctx, p)
					ours, err2 := replicationInfo(ctx, c)
					return ours["master_link_status"] == "up" && ours["slave_repl_offset"] == theirs["master_repl_offset"], errors.Join(err1, err2)
				})
			})
		})
	},
	cut: func(ctx context.Context, s *Server) error {
		return s.redis(func(c *goredis.Client) error { return c.ReplicaOf(ctx, "127.0.0.1", "1").Err() })
	},
	promote: func(ctx context.Context, s *Server) error {
		return s.redis(func(c *goredis.Client) error { return c.ReplicaOf(ctx, "NO", "ONE").Err() })
	},
}

func replicationInfo(ctx context.Context, c *goredis.Client) (map[string]string, error) {
	info, err := c.InfoMap(ctx, "replication").Result()
	return info["Replication"], err
}

// redis runs f with a client of a Redis server.
func (s *Server) redis(f func(*goredis.Client) error) error {
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr(), DisableIdentity: true})
	return errors.Join(f(c), c.Close())
}

var mariadbReplication = replication{
	follow: func(ctx context.Context, s, primary *Server) error {
		position := ""
		if err := primary.mysql(ctx, func(db *sql.Conn) error {
			return db.QueryRowContext(ctx, "SELECT @@gtid_current_pos").Scan(&position)
		}); err != nil {
			return err
		}
		return s.mysql(ctx, func(db *sql.Conn) error {
			for _, statement := range []string{
				"STOP SLAVE",
				"SET GLOBAL gtid_slave_pos = @@gtid_current_pos", // from a time as primary
				fmt.Sprintf("CHANGE MASTER TO master_host = '127.0.0.1', master_port = %d, master_user = 'snowlease', "+
					"master_password = 'snowlease', master_use_gtid = slave_pos, master_connect_retry = 1", primary.port),
				"START SLAVE",
			} {
				if _, err := db.ExecContext(ctx, statement); err != nil {
					return fmt.Errorf("%s: %w", statement, err)
				}
			}
			if err := until(ctx, "the replica does not connect", func() (bool, error) {
				var name, running string
				err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Slave_running'").Scan(&name, &running)
				return running == "ON", err
			}); err != nil {
				return err
			}
			var late int
			err := db.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT(?, 60)", position).Scan(&late)
			if err == nil && late != 0 {
				err = errors.New("the replica does not catch up")
			}
			return err
		})
	},
	cut: func(ctx context.Context, s *Server) error {
		return s.mysql(ctx, func(db *sql.Conn) error {
			_, err := db.ExecContext(ctx, "STOP SLAVE")
			return err
		})
	},
	promote: func(ctx context.Context, s *Server) error {
		return s.mysql(ctx, func(db *sql.Conn) error {
			if _, err := db.ExecContext(ctx, "STOP SLAVE"); err != nil {
				return err
			}
			_, err := db.ExecContext(ctx, "RESET SLAVE ALL")
			return err
		})
	},
}

// mysql runs f with a connection to a MariaDB server.
func (s *Server) mysql(ctx context.Context, f func(*sql.Conn) error) error {
	db, err := sql.Open("mysql", s.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(conn), conn.Close())
}
