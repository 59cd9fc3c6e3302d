package simulate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// SQLite is an in-memory database that runs the product's SQL. The statements of a
// call are a round trip apart, so those of several processes interleave. It supports
// all faults, two of them approximately. A slot is one row, so DropLease and DropMark
// lose all of it.
type SQLite struct {
	offset
	// DB takes a round trip for each statement of a call except the first.
	DB    *gorm.DB
	pool  *sql.DB
	link  *connector
	kept  int    // snapshots
	slots []Slot // as last read
	stale bool   // something may have been written since
}

// NewSQLite returns an empty database.
func NewSQLite() (Store, error) { return newSQLite() }

func newSQLite() (*SQLite, error) {
	s := &SQLite{stale: true}
	connector, err := newConnector(fmt.Sprintf("file:/sim%p?vfs=memdb", s), s.Now, func() { s.stale = true })
	if err != nil {
		return nil, err
	}
	s.link, s.pool = connector, sql.OpenDB(connector)
	s.pool.SetMaxIdleConns(4) // closing the last connection would drop the database
	s.DB, err = gorm.Open(sqlite.New(sqlite.Config{Conn: s.pool}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	// The tables exist already: a process that finds none waits for their creator, for
	// times that the product draws at random.
	c, err := s.Center(nil)
	if err != nil {
		return nil, err
	}
	return s, c.Extras().Init(context.Background(), lease.Request{
		Namespace: "other", Layout: "other", Owner: [16]byte{1}, Pool: 1, TTL: time.Second, MaxTTL: time.Second,
	})
}

func (*SQLite) Name() string { return "sqlite" }

// Center returns a dbseq.Center for each process, which finds out itself whether the
// tables exist.
func (s *SQLite) Center(*Host) (lease.Center, error) { return dbseq.New(s.pool, dbseq.SQLite) }

func (s *SQLite) Close() error { return s.pool.Close() }

func (s *SQLite) exec(text string, values ...any) error {
	_, err := s.pool.ExecContext(context.Background(), text, values...)
	return err
}

// Reincarnate makes it another server with the same records.
func (s *SQLite) Reincarnate() error {
	s.link.server++
	return nil
}

func (s *SQLite) Lose(what Kind, worker int64) error {
	switch what {
	case Wipe:
		// Keep the row that says that the tables are in use, as after their creation.
		return errors.Join(s.exec("DELETE FROM snowlease_slot"), s.exec("DELETE FROM snowlease_ticket"),
			s.exec("DELETE FROM snowlease_meta WHERE ns <> ''"))
	case DropMeta:
		return s.exec("DELETE FROM snowlease_meta WHERE ns = ?", namespace)
	case DropOwners:
		return s.exec("UPDATE snowlease_slot SET owner = '', holder = '', since_ms = 0, ver = ver + 1")
	default:
		return s.exec("DELETE FROM snowlease_slot WHERE ns = ? AND slot = ?", namespace, worker)
	}
}

func (s *SQLite) Shows(what Kind, worker int64) (shows bool, err error) {
	switch what {
	case DropMeta, DropOwners:
		worker = -1
	}
	err = s.pool.QueryRowContext(context.Background(), "SELECT EXISTS (SELECT 1 FROM snowlease_slot WHERE ns = ? AND slot <> ?) OR ? AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ?)",
		namespace, worker, what != DropMeta, namespace).Scan(&shows)
	return shows, err
}

func (s *SQLite) Slots() (slots []Slot, err error) {
	if s.stale {
		s.slots, err = s.read()
		s.stale = err != nil
	}
	return s.slots, err
}

func (s *SQLite) read() (slots []Slot, err error) {
	rows, err := s.pool.QueryContext(context.Background(),
		"SELECT slot, hwm_ms, owner FROM snowlease_slot WHERE ns = ? ORDER BY slot", namespace)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var worker int
		slot := Slot{}
		if err := rows.Scan(&worker, &slot.Mark, &slot.Owner); err != nil {
			return nil, err
		}
		for len(slots) < worker {
			slots = append(slots, Slot{Mark: -1})
		}
		slots = append(slots, slot)
	}
	return slots, rows.Err()
}

// Snapshot keeps the rows of all tables, including their key counters.
func (s *SQLite) Snapshot() (func() error, error) {
	s.kept++
	kept := fmt.Sprintf("kept_%d_", s.kept)
	before, err := s.tables()
	for _, t := range before {
		err = errors.Join(err, s.exec("CREATE TABLE "+kept+t+" AS SELECT * FROM "+t))
	}
	return func() error {
		tables, err := s.tables()
		for _, t := range tables { // sqlite_sequence comes last
			err = errors.Join(err, s.exec("DELETE FROM "+t))
			if slices.Contains(before, t) {
				err = errors.Join(err, s.exec("INSERT INTO "+t+" SELECT * FROM "+kept+t))
			}
		}
		return err
	}, err
}

func (s *SQLite) tables() (names []string, err error) {
	return names, s.DB.Raw("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'kept%' ORDER BY name LIKE 'sqlite%', name").Scan(&names).Error
}
