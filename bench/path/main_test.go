// Package path_test measures the way to the first id: what it costs to borrow a worker
// id, to start a process, to keep a worker, and to link one.
package path_test

import (
	"slices"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// durations are reported as their median.
type durations []time.Duration

func (d *durations) time(b *testing.B, f func() error) {
	b.Helper()
	start := time.Now()
	err := f()
	*d = append(*d, time.Since(start))
	if err != nil {
		b.Fatal(err)
	}
}

func (d *durations) report(b *testing.B, unit string) {
	slices.Sort(*d)
	b.ReportMetric((*d)[len(*d)/2].Seconds()*1000, unit)
}
