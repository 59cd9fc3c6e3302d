//go:build soak

package simulate

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/stretchr/testify/require"
)

var (
	soakSeeds  = flag.Int("soak.seeds", 100_000, "how many seeds in all")
	soakState  = flag.String("soak.state", "soak.json", "file that a run goes on from")
	soakReport = flag.String("soak.report", "soak.md", "file that gets the summary")
)

// soak is the state that is kept between chunks of seeds.
type soak struct {
	Next   int // the next seed
	Spent  time.Duration
	Stores map[string]*Tally
	Broken []string // reports
}

// storeOf spreads the seeds: seventeen of twenty use the fastest store.
func storeOf(seed int) string {
	switch seed % 20 {
	case 0:
		return "redis"
	case 10:
		return "sqlite"
	case 13:
		return "etcd"
	}
	return "memory"
}

// TestSoak runs many seeds, each on one store. It continues where an earlier run ended.
func TestSoak(t *testing.T) {
	s := soak{Next: 1, Stores: map[string]*Tally{"memory": {}, "redis": {}, "sqlite": {}, "etcd": {}}}
	text, err := os.ReadFile(*soakState)
	if err == nil {
		err = json.Unmarshal(text, &s)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	require.NoError(t, err)
	bar := progressbar.NewOptions(*soakSeeds, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(time.Second),
		progressbar.OptionSetDescription("seeds"))
	require.NoError(t, bar.Set(s.Next-1))
	const chunk = 500
	for s.Next <= *soakSeeds {
		began := time.Now()
		end := min(s.Next+chunk, *soakSeeds+1)
		t.Run(fmt.Sprint(s.Next), func(t *testing.T) { s.run(t, s.Next, end, bar) })
		s.Next = end
		s.Spent += time.Since(began)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(*soakState+".new", text, 0o644))
		require.NoError(t, os.Rename(*soakState+".new", *soakState))
	}
	require.NoError(t, bar.Finish())

	summary := fmt.Sprintf("%s %s/%s, %d processors, seeds 1 to %d in %v.\n\n%s", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), s.Next-1, s.Spent.Round(time.Second), Table([]string{"memory", "redis", "sqlite", "etcd"}, s.Stores))
	require.NoError(t, os.MkdirAll(filepath.Dir(*soakReport), 0o755))
	require.NoError(t, os.WriteFile(*soakReport, []byte(summary), 0o644))
	t.Log(summary)
	for _, broken := range s.Broken {
		t.Error(broken)
	}
}

// run plays the seeds from..end-1 on all processors.
func (s *soak) run(t *testing.T, from, end int, bar *progressbar.ProgressBar) {
	workers := runtime.GOMAXPROCS(0)
	var mu sync.Mutex
	next := from
	for worker := range workers {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for {
				mu.Lock()
				seed := next
				next++
				mu.Unlock()
				if seed >= end {
					return
				}
				name := storeOf(seed)
				plans, test := plansOf(name), "TestSeeds"
				if seed%10 == 5 { // on the fastest store; TestCalm covers the others
					plans, test = CalmPlans(), "TestCalm"
				}
				r := Run(t, plans.Example(seed), stores[name])
				mu.Lock()
				s.Stores[name].Add(r.Tally)
				if !r.OK() {
					s.Broken = append(s.Broken, report(test+"/"+name+"/", seed, r))
				}
				mu.Unlock()
				_ = bar.Add(1)
			}
		})
	}
}
