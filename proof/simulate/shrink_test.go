package simulate

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestShrink plays random plans and shrinks a plan that breaks a rule.
func TestShrink(t *testing.T) {
	for name, subject := range stores {
		t.Run(name, func(t *testing.T) {
			if given := flag.Lookup("rapid.checks"); given.Value.String() == given.DefValue {
				set(t, "rapid.checks", map[string]string{"memory": "100", "redis": "20", "sqlite": "5", "etcd": "20"}[name])
			}
			rapid.Check(t, func(rt *rapid.T) {
				if r := Run(t, plansOf(name).Draw(rt, "plan"), subject); !r.OK() {
					rt.Fatalf("%s", r)
				}
			})
		})
	}
}

func set(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	was := f.Value.String()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { require.NoError(t, flag.Set(name, was)) })
}
