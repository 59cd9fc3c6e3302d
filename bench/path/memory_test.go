package path_test

import (
	"runtime"
	"testing"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// BenchmarkMemory is what one more of each keeps of the heap, and its goroutines.
func BenchmarkMemory(b *testing.B) {
	layout := snowflake.Wide()
	center := memcenter.New()
	req := memcenter.NewRequest("bench", layout)
	req.Owner = lease.NewOwner()
	if err := center.Init(b.Context(), req); err != nil {
		b.Fatal(err)
	}
	for _, m := range []struct {
		name string
		open func(b *testing.B) any
	}{
		{"Generator", func(*testing.B) any { return generator.New(layout) }},
		{"IdWorker, fixed", func(*testing.B) any { return must(snowlease.Fixed(1, snowlease.Config{Layout: layout})) }},
		{"IdWorker with a lease", func(b *testing.B) any {
			return must(idworker.Open(b.Context(), idworker.Config{Namespace: "bench", Layout: layout}, idworker.Clients{Center: center}))
		}},
		{"bwmarrin/snowflake", func(*testing.B) any { return must(bwmarrin.NewNode(1)) }},
		{"sony/sonyflake/v2", func(*testing.B) any {
			return must(sonyflake.New(sonyflake.Settings{MachineID: func() (int, error) { return 1, nil }}))
		}},
		{"yitter/idgenerator-go", func(*testing.B) any {
			return idgen.NewDefaultIdGenerator(idgen.NewIdGeneratorOptions(1))
		}},
	} {
		b.Run(m.name, func(b *testing.B) {
			const n = 500
			for b.Loop() {
				kept := make([]any, n)
				before, goroutines := heap(), runtime.NumGoroutine()
				for i := range kept {
					kept[i] = m.open(b)
				}
				b.ReportMetric(float64(heap()-before)/n, "bytes")
				b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/n, "goroutines")
				for _, k := range kept {
					if w, ok := k.(*idworker.IdWorker); ok {
						_ = w.Close()
					}
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
