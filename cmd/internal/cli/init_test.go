package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/cmd/internal/cli/sqlredis"
	"github.com/snowlease/snowlease/cmd/internal/cli/target"
)

// Another program has retired the namespace, with a reason that has controls which JSON does not
// escape.
func TestRetireJSONPrintsNoControls(t *testing.T) {
	t.Parallel()
	r := miniredis.RunT(t)
	args := []string{"--store=redis://" + r.Addr(), "--namespace=a", "--quarantine=never"}
	code, _, errs := call(t, "", append([]string{"init", "--yes"}, args...)...)
	require.Zero(t, code, errs)
	r.HSet("snowlease:{a}:meta", "pin", "retired: \u009b31m\u202emoved")
	code, out, errs := call(t, "", append([]string{"retire", "--yes", "--json"}, args...)...)
	require.Zero(t, code, errs)
	require.NotContains(t, out, "\u009b")
	require.NotContains(t, out, "\u202e")
}

// The file of --config has db and redis, and the mode does not say which: SNOWLEASE_STORE is not
// taken instead.
func TestVariableBesideAFileWithTwoStores(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("prod.yaml", []byte("idworker: {namespace: orders}\ndb: {dsn: prod.db}\nredis: {addrs: ['127.0.0.1:1']}\n"), 0o600))
	t.Setenv(envStore, "sqlite:dev.db")
	code, out, errs := call(t, "", "init", "--yes", "--namespace=orders", "--config=prod.yaml")
	require.Equal(t, exitUsage, code, out+errs)
	require.Contains(t, errs, "both name a store")
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
