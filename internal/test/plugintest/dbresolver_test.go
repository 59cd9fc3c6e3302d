package plugintest

import (
	"fmt"
	"testing"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/snowlease/snowlease/gormplugin"
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
			t.Cleanup(func() {
				_ = resolver.Call(func(pool gorm.ConnPool) error {
					if closer, ok := pool.(interface{ Close() error }); ok {
						return closer.Close()
					}
					return nil
				})
			})

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
