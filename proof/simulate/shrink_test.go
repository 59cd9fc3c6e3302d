package simulate

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestShrink plays random plans and shrinks a plan that breaks a rule.
func TestShrink(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	was := checks.Value.String()
	t.Cleanup(func() { require.NoError(t, checks.Value.Set(was)) })
	for name, subject := range stores {
		t.Run(name, func(t *testing.T) {
			if was == checks.DefValue {
				require.NoError(t, checks.Value.Set(map[string]string{"memory": "100", "redis": "20", "sqlite": "5", "etcd": "20"}[name]))
			}
			rapid.Check(t, func(rt *rapid.T) {
				if r := Run(t, plansOf(name).Draw(rt, "plan"), subject); !r.OK() {
					rt.Fatalf("%s", r)
				}
			})
		})
	}
}
