package cli

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// Another program has retired the namespace, with a reason that has controls.
func TestRetirePrintsNoControls(t *testing.T) {
	t.Parallel()
	r := miniredis.RunT(t)
	args := []string{"--store=redis://" + r.Addr(), "--namespace=a", "--quarantine=never"}
	code, _, errs := call(t, "", append([]string{"init", "--yes"}, args...)...)
	require.Zero(t, code, errs)
	r.HSet("snowlease:{a}:meta", "pin", "retired: \u009b31m\u202emoved")
	code, out, errs := call(t, "", append([]string{"retire", "--yes"}, args...)...)
	require.Zero(t, code, errs)
	require.NotContains(t, out, "\u009b")
	require.NotContains(t, out, "\u202e")
}
