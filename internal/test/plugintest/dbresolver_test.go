package plugintest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/plugin/dbresolver"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

type Account struct {
	gormplugin.Model
	Entries []Entry
}

type Entry struct {
	gormplugin.Model
	AccountID int64
}

// Audit is stored in another database.
type Audit struct {
	gormplugin.Model
	Text string
}

// Label has a key of which MySQL tells nothing, and Part a parent.
type (
	Label struct {
		ID    string `gorm:"primaryKey;size:20"`
		Name  string `gorm:"size:50;uniqueIndex"`
		Parts []Part `gorm:"constraint:-"`
	}
	Part struct {
		gormplugin.Model
		LabelID string `gorm:"size:20"`
	}
)

func closeAll(t *testing.T, resolver *dbresolver.DBResolver) {
	t.Cleanup(func() {
		_ = resolver.Call(func(pool gorm.ConnPool) error {
			if closer, ok := pool.(interface{ Close() error }); ok {
				return closer.Close()
			}
			return nil
		})
	})
}

// The plugin looks for rows that an upsert found where it has stored them: not on a replica,
// which is late, nor on another source.
func TestDBResolverReadsItsOwnWrite(t *testing.T) {
	t.Parallel()
	for _, prepared := range []bool{true, false} {
		database := func() gorm.Dialector {
			return mysql.New(mysql.Config{DSN: testserver.MariaDB(t), DisableWithReturning: true})
		}
		sources, replica := []gorm.Dialector{database(), database()}, database()
		for _, d := range append(sources, replica) {
			require.NoError(t, openOn(t, d, gorm.Config{}).AutoMigrate(&Label{}, &Part{}))
		}
		turn := 0
		next := dbresolver.PolicyFunc(func(pools []gorm.ConnPool) gorm.ConnPool { turn++; return pools[turn%len(pools)] })
		resolver := dbresolver.Register(dbresolver.Config{Sources: sources, Replicas: []gorm.Dialector{replica}, Policy: next})
		closeAll(t, resolver)
		db := openOn(t, sources[0], gorm.Config{SkipDefaultTransaction: true, PrepareStmt: prepared})
		require.NoError(t, errors.Join(db.Use(newPlugin(t)), db.Use(resolver)))
		rows := []Label{{Name: "a", Parts: make([]Part, 1)}, {Name: "b", Parts: make([]Part, 1)}}
		byName := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
		require.NoError(t, db.Clauses(byName).Create(&rows).Error)
	}
}

// TestDBResolver checks that rows go to the source that dbresolver chooses, with ids
// of one worker.
func TestDBResolver(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("gormplugin first %v", first), func(t *testing.T) {
			t.Parallel()
			mainDSN, mainDB := newDatabase(t)
			replicaDSN, replicaDB := newDatabase(t)
			auditDSN, auditDB := newDatabase(t)
			for _, dsn := range []string{mainDSN, replicaDSN, auditDSN} {
				require.NoError(t, open(t, dsn).AutoMigrate(&Account{}, &Entry{}, &Audit{}))
			}
			db := open(t, mainDSN)
			resolver := dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{sqlite.Open(replicaDSN)}}).
				Register(dbresolver.Config{Sources: []gorm.Dialector{sqlite.Open(auditDSN)}}, &Audit{})
			plugins := []gorm.Plugin{newPlugin(t), resolver}
			if !first {
				plugins[0], plugins[1] = plugins[1], plugins[0]
			}
			for _, p := range plugins {
				require.NoError(t, db.Use(p))
			}
			closeAll(t, resolver)
			account := Account{Entries: []Entry{{}, {}}}
			audits := []Audit{{Text: "a"}, {Text: "b"}}
			require.NoError(t, db.Create(&account).Error)
			require.NoError(t, db.Create(&audits).Error)
			var inside Account
			require.NoError(t, db.Clauses(dbresolver.Write).Transaction(func(tx *gorm.DB) error { return tx.Create(&inside).Error }))

			stored(t, mainDB, "accounts", account.ID, inside.ID)
			stored(t, mainDB, "entries", account.Entries[0].ID, account.Entries[1].ID)
			stored(t, mainDB, "audits")
			stored(t, auditDB, "audits", audits[0].ID, audits[1].ID)
			stored(t, auditDB, "accounts")
			stored(t, replicaDB, "accounts")
		})
	}
}
