package gormplugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

// A counter counts up, and records the sizes of its calls.
type counter struct {
	mu    sync.Mutex
	last  int64
	asked []int
}

func (c *counter) NextIDs(_ context.Context, dst []int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, len(dst))
	for i := range dst {
		c.last++
		dst[i] = c.last
	}
	return nil
}

type generatorFunc func(ctx context.Context, dst []int64) error

func (f generatorFunc) NextIDs(ctx context.Context, dst []int64) error { return f(ctx, dst) }

func TestOneReservationPerStatement(t *testing.T) {
	t.Parallel()
	gen := &counter{last: 100}
	db := openSQLite(t, gormplugin.New(gen, gormplugin.Config{}), &Plain{})
	rows := make([]Plain, 1000)
	rows[0].ID, rows[7].ID = 1, 2
	require.NoError(t, db.Create(&rows).Error)
	maps := []map[string]any{{"id": 3}, {"name": "a"}, {"name": "b"}}
	require.NoError(t, db.Model(&Plain{}).Create(maps).Error)
	require.NoError(t, db.Create(&Plain{ID: 4}).Error)
	require.NoError(t, db.Create([]*Plain{{ID: 5}, {ID: 6}}).Error)
	require.NoError(t, db.Save(&Plain{ID: 4, Name: "x"}).Error)
	require.Equal(t, []int{998, 2}, gen.asked)
}

func TestGeneratorFails(t *testing.T) {
	t.Parallel()
	notStarted := generator.New(snowflake.Layout{})
	stopped := newGenerator(t)
	stopped.Stop()
	expired, _ := expired(t)
	own := errors.New("own fault")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	waiting, end := context.WithCancel(context.Background())
	t.Cleanup(end)

	for _, tt := range []struct {
		name string
		gen  snowflake.Source
		ctx  context.Context
		is   []error
		says string
	}{
		{"in quarantine", generatorFunc(func(context.Context, []int64) error {
			return fmt.Errorf("%w: %w", snowlease.ErrNotStarted, own)
		}), nil, []error{snowlease.ErrNotStarted, own}, "no worker id yet: own fault"},
		{"not started", notStarted, nil, []error{snowlease.ErrNotStarted}, "list idworker.GORM before every module that writes"},
		{"stopped", stopped, nil, []error{snowlease.ErrClosed}, "stops after them"},
		{"expired", expired, nil, []error{snowlease.ErrLeaseExpired, context.DeadlineExceeded}, "no ids or numbers within the 50ms of gormplugin.Config.Wait"},
		{"statement canceled before", newGenerator(t), canceled, []error{context.Canceled}, "no ids for 2 rows"},
		{"statement canceled while waiting", generatorFunc(func(ctx context.Context, _ []int64) error {
			end()
			<-ctx.Done()
			return snowlease.ErrLeaseExpired
		}), waiting, []error{context.Canceled}, ""},
		{"own generator's error", generatorFunc(func(context.Context, []int64) error { return own }), nil, []error{own}, "Plain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := openSQLite(t, gormplugin.New(tt.gen, gormplugin.Config{Wait: 50 * time.Millisecond}), &Plain{})
			pool, err := db.DB()
			require.NoError(t, err)
			if tt.ctx != nil {
				db = db.WithContext(tt.ctx)
			}
			require.NoError(t, pool.Close()) // nothing is sent, BEGIN included
			rows := make([]Plain, 2)
			maps := []map[string]any{{}, {}}
			for _, err := range []error{db.Create(&rows).Error, db.Model(&Plain{}).Create(maps).Error} {
				require.ErrorContains(t, err, "gormplugin: no ids for 2 rows")
				require.ErrorContains(t, err, tt.says)
				require.NotContains(t, err.Error(), "database is closed")
				for _, target := range tt.is {
					require.ErrorIs(t, err, target)
				}
				require.Equal(t, tt.gen == notStarted || tt.gen == stopped, strings.Contains(err.Error(), "list idworker.GORM before"), err)
			}
			require.Zero(t, rows[0].ID+rows[1].ID)
			require.Empty(t, maps[0])
		})
	}
}

func TestUse(t *testing.T) {
	t.Parallel()
	db := openSQLite(t, gormplugin.New(&counter{}, gormplugin.Config{}))
	require.ErrorIs(t, db.Use(gormplugin.New(&counter{}, gormplugin.Config{})), gorm.ErrRegistered)

	fresh := openSQLite(t, nil)
	require.ErrorContains(t, fresh.Use(gormplugin.New(nil, gormplugin.Config{})), "source of ids is nil")
	var never *generator.Generator
	require.ErrorContains(t, fresh.Use(gormplugin.New(never, gormplugin.Config{})), "source of ids is nil (*generator.Generator)")
	err := fresh.Use(gormplugin.New(&counter{}, gormplugin.Config{Exclude: []string{"a", " b"}, Wait: -1}))
	require.ErrorContains(t, err, `exclude[1] " b"`)
	require.ErrorContains(t, err, "wait -1ns")
	require.ErrorContains(t, fresh.Use(gormplugin.New(&counter{}, gormplugin.Config{Wait: 2})), "wait 2ns is finer than a millisecond")
	require.NoError(t, fresh.Use(gormplugin.New(&counter{}, gormplugin.Config{TaggedOnly: true})), "faults register nothing")
}

func TestExclude(t *testing.T) {
	t.Parallel()
	gen := &counter{last: 100}
	db := openSQLite(t, gormplugin.New(gen, gormplugin.Config{Exclude: []string{"autos", "archive", "main.qualifieds"}}), &Auto{}, &Plain{}, &Qualified{})
	auto := Auto{Name: "a"}
	require.NoError(t, db.Create(&auto).Error)
	require.EqualValues(t, 1, auto.ID)
	require.NoError(t, db.Exec("CREATE TABLE archive AS SELECT * FROM plains").Error)
	require.NoError(t, db.Table("archive").Create(&Plain{}).Error)
	require.NoError(t, db.Create(&Qualified{}).Error)
	require.Empty(t, gen.asked)
	require.NoError(t, db.Create(&Plain{}).Error)
	require.NotEmpty(t, gen.asked)
}

type Qualified struct{ ID int64 }

func (Qualified) TableName() string { return "main.qualifieds" }

func TestWarnsOnceOfAutoIncrement(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	db := openSQLite(t, gormplugin.New(&counter{}, gormplugin.Config{}), &Auto{}, &Plain{})
	db.Logger = logger.New(log.New(&out, "", 0), logger.Config{LogLevel: logger.Warn})
	require.NoError(t, db.Create(&Plain{}).Error)
	require.NoError(t, db.Create(&Auto{Model: gorm.Model{ID: 50}, Name: "a"}).Error)
	require.Empty(t, out.String())
	for _, name := range []string{"b", "c"} {
		require.NoError(t, db.Create(&Auto{Name: name}).Error)
	}
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("AUTO_INCREMENT")))
	require.Contains(t, out.String(), `gorm:"primaryKey;autoIncrement:false"`)
	require.Contains(t, out.String(), "gen.FieldGORMTag for gorm.io/gen")
	require.Contains(t, out.String(), "gormplugin_test.Auto")
}

// A statement waits for the renewal of an expired lease, and holds no connection meanwhile.
func TestWaitsForLease(t *testing.T) {
	t.Parallel()
	gen, adopt := expired(t)
	asked := make(chan struct{})
	db := openSQLite(t, gormplugin.New(generatorFunc(func(ctx context.Context, dst []int64) error {
		close(asked)
		return gen.NextIDs(ctx, dst)
	}), gormplugin.Config{Wait: time.Hour}), &Plain{})
	pool, err := db.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(1)
	done, row := make(chan error), Plain{}
	go func() { done <- db.Create(&row).Error }()
	<-asked
	require.NoError(t, db.Create(&Plain{ID: 1}).Error)
	require.Zero(t, pool.Stats().InUse)
	adopt(-time.Second/2, time.Hour)
	require.NoError(t, <-done)
	require.Greater(t, row.ID, int64(1<<40))
}

// expired returns a generator whose lease has expired, and what gives it another one.
func expired(t *testing.T) (gen *generator.Generator, adopt func(from, to time.Duration)) {
	gen = generator.New(snowflake.Layout{})
	now := time.Now().UnixMilli()
	adopt = func(from, to time.Duration) {
		_, err := gen.Adopt(generator.Range{Worker: worker, Floor: now + from.Milliseconds(), Ceiling: now + to.Milliseconds(), Now: now, At: gen.Elapsed()})
		require.NoError(t, err)
	}
	adopt(-time.Second, -time.Second/2)
	return gen, adopt
}
