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

// SQLite is a database in memory that runs the product's SQL. Statements of a call are
// a round trip apart, so that those of several processes mix. It can have all faults,
// two of them in a wider sense: a slot is one row, so DropLease and DropMark lose all
// of it; and as there is but one SQLite, another server is made by changing which one
// the records say they come from.
type SQLite struct {
	offset
	// DB takes a round trip for each statement within a call but the first.
	DB    *gorm.DB
	pool  *sql.DB
	other int
	kept  int    // snapshots
	slots []Slot // as read last
	stale bool   // something may have been written since
}

// NewSQLite returns an empty database.
func NewSQLite() (Store, error) { return newSQLite(nil) }

// newSQLite returns one to which rewrite, if it is not nil, gives other statements.
func newSQLite(rewrite func(string) string) (*SQLite, error) {
	s := &SQLite{stale: true}
	connector, err := newConnector(fmt.Sprintf("file:/sim%p?vfs=memdb", s), s.Now, func() { s.stale = true })
	if err != nil {
		return nil, err
	}
	connector.rewrite = rewrite
	s.pool = sql.OpenDB(connector)
	s.pool.SetMaxIdleConns(4) // the database is gone when the last one is closed
	s.DB, err = gorm.Open(sqlite.New(sqlite.Config{Conn: s.pool}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	// Another service has made the tables: who finds none waits for those who make
	// them, for times that the product draws at random.
	c, err := s.Center(nil)
	if err != nil {
		return nil, err
	}
	return s, c.Extras().Init(context.Background(), lease.Request{
		Namespace: "other", Layout: "other", Owner: [16]byte{1}, Pool: 1, TTL: time.Second, MaxTTL: time.Second,
	})
}

// Name is sqlite.
func (*SQLite) Name() string { return "sqlite" }

// Center returns a dbseq.Center of its own for each process, which knows by itself
// whether the tables are there.
func (s *SQLite) Center(*Host) (lease.Center, error) { return dbseq.New(s.DB, dbseq.WithPool(s.pool)) }

// Close ends the database.
func (s *SQLite) Close() error { return s.pool.Close() }

func (s *SQLite) exec(text string, values ...any) error {
	_, err := s.pool.ExecContext(context.Background(), text, values...)
	return err
}

// Reincarnate changes which server the records come from.
func (s *SQLite) Reincarnate() error {
	s.other++
	return s.exec("UPDATE snowlease_meta SET incarnation = ? WHERE ns <> ''", fmt.Sprint("other ", s.other))
}

// Lose loses records.
func (s *SQLite) Lose(what Kind, worker int64) error {
	switch what {
	case Wipe:
		// The row that says that the tables are in use stays, as after they were made.
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

// Slots reads the records.
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

// Snapshot keeps the rows of all tables, the counters of their keys too.
func (s *SQLite) Snapshot() (func() error, error) {
	s.kept++
	kept := fmt.Sprintf("kept_%d_", s.kept)
	before, err := s.tables()
	for _, t := range before {
		err = errors.Join(err, s.exec("CREATE TABLE "+kept+t+" AS SELECT * FROM "+t))
	}
	return func() error {
		tables, err := s.tables()
		for _, t := range tables { // sqlite_sequence is the last
			err = errors.Join(err, s.exec("DELETE FROM "+t))
			if slices.Contains(before, t) {
				err = errors.Join(err, s.exec("INSERT INTO "+t+" SELECT * FROM "+kept+t))
			}
		}
		return err
	}, err
}

func (s *SQLite) tables() (names []string, err error) {
	rows, err := s.pool.QueryContext(context.Background(),
		"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'kept%' ORDER BY name LIKE 'sqlite%', name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
