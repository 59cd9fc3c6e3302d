package measure

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/bench/internal/peers"
)

// BenchmarkPairs compares NextID with an atomic add to a word that all goroutines share, as the
// report does: the two take turns. It reports the median and the quartiles of the turns' ratios.
func BenchmarkPairs(b *testing.B) {
	for cores := 1; cores <= min(2, runtime.NumCPU()); cores++ {
		b.Run(fmt.Sprintf("%d cores", cores), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			var ratios []float64
			for b.Loop() {
				s, err := Run(Task{What: Pairs, Maker: peers.Generator, Against: peers.Add, Procs: cores, Goroutines: cores, For: 500 * time.Millisecond})
				require.NoError(b, err)
				ratios = append(ratios, s.Ratios...)
			}
			slices.Sort(ratios)
			for unit, part := range map[string]int{"ratio-p25": 1, "ratio": 2, "ratio-p75": 3} {
				b.ReportMetric(ratios[len(ratios)*part/4], unit)
			}
		})
	}
}
