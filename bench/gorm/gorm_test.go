// Package gorm_test measures what it costs to insert rows through GORM with the keys
// of gormplugin, of the database, of a hook and of another plugin.
package gorm_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/invzhi/next"
	"github.com/libtnb/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var dialects = []struct {
	name string
	open func(testing.TB) gorm.Dialector
}{
	{"SQLite", func(t testing.TB) gorm.Dialector {
		return sqlite.Open(filepath.Join(t.TempDir(), "bench.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	}},
	{"MariaDB", func(t testing.TB) gorm.Dialector { return mysql.Open(testserver.MariaDB(t)) }},
	{"MySQL", func(t testing.TB) gorm.Dialector { return mysql.Open(testserver.MySQL(t)) }},
	{"PostgreSQL", func(t testing.TB) gorm.Dialector { return postgres.Open(testserver.Postgres(t)) }},
}

// A way gets keys into rows.
type way struct {
	name     string
	plugin   func(testing.TB) gorm.Plugin // nil for none
	callback string                       // the one that makes the keys; "" for the database
	rows     func(n int) any              // a pointer to a slice of zero rows
}

var ways = []way{
	{"gormplugin", newPlugin, "idworker:fill", func(n int) any { return ptr(make([]FilledRow, n)) }},
	{"AUTO_INCREMENT", nil, "", func(n int) any { return ptr(make([]AutoRow, n)) }},
	{"hook bwmarrin", nil, "gorm:before_create", func(n int) any { return ptr(make([]HookRow, n)) }},
	{"next bwmarrin", newNext, "next:before_create", func(n int) any { return ptr(make([]NextRow, n)) }},
}

func ptr[T any](v T) *T { return &v }

func newPlugin(testing.TB) gorm.Plugin { return gormplugin.New(newGenerator(), gormplugin.Config{}) }

func newGenerator() *generator.Generator {
	g := generator.New(snowflake.Layout{})
	now := time.Now().UnixMilli()
	must(g.Adopt(generator.Range{Worker: 1, Floor: now - 1, Ceiling: now + time.Hour.Milliseconds(), Now: now, At: g.Elapsed()}))
	return g
}

func newNext(testing.TB) gorm.Plugin {
	p := next.NewPlugin()
	p.Register("id", func(_, zero bool) (any, error) {
		if !zero {
			return nil, next.SkipField
		}
		return node.Generate().Int64(), nil
	})
	return p
}

func open(b *testing.B, d gorm.Dialector, w way) *gorm.DB {
	db := must(gorm.Open(d, &gorm.Config{Logger: logger.Discard}))
	pool := must(db.DB())
	b.Cleanup(func() { _ = pool.Close() })
	if w.plugin != nil {
		if err := db.Use(w.plugin(b)); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.AutoMigrate(w.rows(1)); err != nil {
		b.Fatal(err)
	}
	return db
}

// BenchmarkInsert is the whole INSERT, with the server and the round trip.
func BenchmarkInsert(b *testing.B) {
	for _, d := range dialects {
		for _, n := range []int{1, 100, 1000} {
			for _, w := range ways {
				b.Run(fmt.Sprintf("%s/%d rows/%s", d.name, n, w.name), func(b *testing.B) {
					db := open(b, d.open(b), w)
					for b.Loop() {
						if err := db.Create(w.rows(n)).Error; err != nil {
							b.Fatal(err)
						}
					}
					perRow(b, n)
				})
			}
		}
	}
}

// BenchmarkBesideByHand inserts rows that the plugin fills and rows whose keys are already set,
// taking turns. A round compares the median statement of each, because the system interrupts some.
// It reports the median and the quartiles of the rounds' ratios, and how many more allocations a
// statement makes.
func BenchmarkBesideByHand(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d rows", n), func(b *testing.B) {
			gen := newGenerator()
			hand := open(b, sqlite.Open("file::memory:"), way{rows: ways[0].rows})
			filled := must(gorm.Open(sqlite.New(sqlite.Config{Conn: hand.ConnPool}), &gorm.Config{Logger: logger.Discard}))
			must(0, filled.Use(gormplugin.New(gen, gormplugin.Config{})))
			insert := map[*gorm.DB]func(){
				filled: func() { must(0, filled.Create(ways[0].rows(n)).Error) },
				hand: func() {
					rows := make([]FilledRow, n)
					for i := range rows {
						rows[i].ID = must(gen.NextID())
					}
					must(0, hand.Create(&rows).Error)
				},
			}
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would fall on either by chance
			// A transaction starts a goroutine. Waking another core for it takes longer than a statement.
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			allocs := testing.AllocsPerRun(1000, insert[filled]) - testing.AllocsPerRun(1000, insert[hand])
			turn := func(db *gorm.DB, times []time.Duration) {
				for i := range times {
					start := time.Now()
					insert[db]()
					times[i] = time.Since(start)
				}
			}
			var ratios []float64
			half := max(1, 20/n)
			x, y := make([]time.Duration, 2*half), make([]time.Duration, 2*half)
			for b.Loop() {
				turn(filled, x[:half])
				turn(hand, y[:half])
				turn(hand, y[half:])
				turn(filled, x[half:])
				slices.Sort(x)
				slices.Sort(y)
				ratios = append(ratios, float64(x[half])/float64(y[half]))
				if len(ratios)%16 == 0 {
					runtime.GC() // outside of the turns, so that the heap keeps the size that it has in a program
				}
			}
			slices.Sort(ratios)
			for unit, part := range map[string]int{"ratio-p25": 1, "ratio": 2, "ratio-p75": 3} {
				b.ReportMetric(ratios[len(ratios)*part/4], unit)
			}
			b.ReportMetric(allocs, "allocs-more")
		})
	}
}

// BenchmarkKeys is the making of the keys alone, without SQL and the rest of GORM.
func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		for _, w := range ways {
			if w.callback == "" {
				continue
			}
			b.Run(fmt.Sprintf("%d rows/%s", n, w.name), func(b *testing.B) {
				db := open(b, sqlite.Open(filepath.Join(b.TempDir(), "bench.db")), w)
				rows := w.rows(n)
				tx := db.Session(&gorm.Session{DryRun: true}).Create(rows)
				if tx.Error != nil {
					b.Fatal(tx.Error)
				}
				keys, settle := db.Callback().Create().Get(w.callback), db.Callback().Create().Get("idworker:settle")
				zero := reflect.ValueOf(rows).Elem()
				b.ReportAllocs()
				for b.Loop() {
					zero.Clear()
					if keys(tx); tx.Error != nil {
						b.Fatal(tx.Error)
					}
					if settle != nil {
						settle(tx)
					}
				}
				perRow(b, n)
			})
		}
	}
}

func perRow(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
}
