package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/cmd/internal/cli/sqlredis"
	"github.com/snowlease/snowlease/cmd/internal/cli/target"
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

// The records are lost after the first connection of init, which needs no confirmation to correct a
// pin.
func TestInitAsksWhereItCreates(t *testing.T) {
	t.Parallel()
	r := miniredis.RunT(t)
	args := []string{"init", "--store=redis://" + r.Addr(), "--namespace=a", "--quarantine=never"}
	code, _, errs := call(t, "", append(args, "--yes")...)
	require.Zero(t, code, errs)
	p, opens := sqlredis.Program, 0
	p.Parse = func(text string) (target.Target, error) {
		at, err := sqlredis.Program.Parse(text)
		return wiped{at, &opens, r}, err
	}
	var out, said bytes.Buffer
	code = Run(t.Context(), p, args, strings.NewReader(""), &out, &said) // no --yes, no answer
	require.Equal(t, exitNo, code, out.String()+said.String())
}

// wiped loses all records before the second connection.
type wiped struct {
	target.Target
	opens *int
	redis *miniredis.Miniredis
}

func (w wiped) Open(ctx context.Context, with target.Options) (*target.Opened, error) {
	if *w.opens++; *w.opens == 2 {
		w.redis.FlushAll()
	}
	return w.Target.Open(ctx, with)
}
