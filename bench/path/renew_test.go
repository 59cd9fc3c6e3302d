package path_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// BenchmarkRenewPool is what a renewal takes where all of 32 worker ids are lent, and
// where all of 1,024 are: both in one database, in turns.
func BenchmarkRenewPool(b *testing.B) {
	const turns = 50 // of all holders, one after the other
	for _, e := range engines {
		if e.name == "SQLite" {
			continue // one machine has no thousand holders
		}
		b.Run(e.name, func(b *testing.B) {
			dsn := e.dsn(b)
			c := e.open(b, dsn)
			small, large := fill(b, c, 5), fill(b, c, 10)
			var few, many durations
			next := 0
			for b.Loop() {
				for range turns {
					few.time(b, small[next%len(small)].renew(b))
					many.time(b, large[next*37%len(large)].renew(b)) // 37: all over the pool
					next++
				}
			}
			ratios := make([]float64, len(few))
			for i := range few {
				ratios[i] = float64(many[i]) / float64(few[i])
			}
			slices.Sort(ratios)
			b.ReportMetric(0, "ns/op")
			few.report(b, "renew-32-ms")
			many.report(b, "renew-1024-ms")
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			p := newProxy(b, dsn)
			w := large[len(large)-1]
			w.center = e.open(b, p.dsn)
			for range 2 { // the first connects
				b.ReportMetric(p.trips(b, w.renew(b)), "trips")
			}
		})
	}
}

// fill borrows every worker id of a pool.
func fill(b *testing.B, c lease.Center, workerBits uint8) (all []*borrower) {
	b.Helper()
	layout := snowflake.Layout{WorkerBits: workerBits}
	first := newBorrower(b, c, fmt.Sprint("renew", workerBits), layout)
	for range layout.Workers() {
		w := &borrower{center: c, req: first.req}
		if err := w.borrow(b)(); err != nil {
			b.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}
