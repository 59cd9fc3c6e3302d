package simulate

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestShrink plays random plans and shrinks a plan that breaks a rule.
func TestShrink(t *testing.T) {
	for name, subject := range stores {
		t.Run(name, func(t *testing.T) {
			if given := flag.Lookup("rapid.checks"); given.Value.String() == given.DefValue {
				set(t, "rapid.checks", map[string]string{"memory": "100", "redis": "20", "sqlite": "5", "etcd": "20", "local": "20"}[name])
			}
			rapid.Check(t, func(rt *rapid.T) {
				if r := Run(t, plansOf(name).Draw(rt, "plan"), subject); !r.OK() {
					rt.Fatalf("%s", r)
				}
			})
		})
	}
}

// TestShrinks checks that rapid begins with the plan of its seed and reduces a failing
// plan to what makes it fail.
func TestShrinks(t *testing.T) {
	breaks := func(p Plan) bool {
		return Run(t, p, center(noQuarantine)).Broken[Overlap] > 0
	}
	seed := 1
	for plan := PlanOf(seed); len(plan.Faults) < 5 || !breaks(plan); plan = PlanOf(seed) {
		seed++
	}
	set(t, "rapid.seed", strconv.Itoa(seed))
	set(t, "rapid.nofailfile", "true")
	set(t, "rapid.shrinktime", "5s")
	var plans []Plan // plans that failed
	tb := &recorder{TB: t}
	tb.check(func(rt *rapid.T) {
		if plan := Plans().Draw(rt, "plan"); breaks(plan) {
			plans = append(plans, plan)
			rt.Fatal("broken")
		}
	})
	require.True(t, tb.failed)
	require.Equal(t, PlanOf(seed), plans[0])
	least := plans[len(plans)-1]
	require.Less(t, len(least.Faults), len(plans[0].Faults), "%v", least)
	t.Logf("of %d faults are left: %v", len(plans[0].Faults), least)
}

func set(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	was := f.Value.String()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { require.NoError(t, flag.Set(name, was)) })
}

// recorder is a test that is expected to fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) check(prop func(*rapid.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(r, prop)
	}()
	<-done
}

func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Log(...any)            {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Error(...any)          { r.failed = true }
func (r *recorder) Fail()                 { r.failed = true }
func (r *recorder) Fatalf(string, ...any) { r.FailNow() }
func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}
func (r *recorder) Failed() bool { return r.failed }
