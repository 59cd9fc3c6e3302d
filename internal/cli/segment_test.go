package cli

import (
	"os"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// Series are always in the database (docs/configuration.md, segment_store), whatever segment_store says.
func TestScopesOfASeriesAreInTheDatabase(t *testing.T) {
	t.Chdir(t.TempDir())
	srv := miniredis.RunT(t)
	require.NoError(t, os.WriteFile("app.db", nil, 0o600))
	require.NoError(t, os.WriteFile(configFile, []byte("idworker:\n  namespace: a\n  mode: db\n  segment_store: redis\n"+
		"  store: {quarantine: never}\n  segments: [{name: members}]\n  series: [{name: bills, period: month, gapless: true}]\n"+
		"db: {dsn: app.db}\nredis: {addrs: ["+srv.Addr()+"], timeout: 1s}\n"), 0o600))
	code, out, errs := call(t, "", "segment", "create", "--name=bills.acme", "--start=202611010000000043")
	require.Zero(t, code, errs)
	require.Contains(t, out, "sqlite app.db")
	require.Empty(t, srv.Keys())
}

// since.HASH.NAMESPACE of backdated ids has a great number, and is no series.
func TestLineOfBackdatedIDs(t *testing.T) {
	t.Parallel()
	given := int64(1_795_000_000_000) << 20
	require.Equal(t, segmentLine{Name: "since.abc.orders", Given: given, Number: given}, lineOf("since.abc.orders", given))
}
