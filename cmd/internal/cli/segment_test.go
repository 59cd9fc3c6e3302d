package cli

import (
	"bytes"
	"database/sql"
	"os"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
)

// The numbers of a series are in a database.
func TestSeriesIsNotInRedis(t *testing.T) {
	t.Parallel()
	srv := miniredis.RunT(t)
	code, out, errs := call(t, "", "segment", "create", "--store=redis://"+srv.Addr(), "--quarantine=never", "--name=bills.acme", "--period=2026-11-01", "--start=43")
	require.Equal(t, exitFailed, code, out)
	require.Contains(t, errs, "is none: name the database with --store")
	require.Empty(t, srv.Keys())
}

// segmentTables returns the tables of numbers in app.db.
func segmentTables(t *testing.T) (tables string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "app.db")
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, pool.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(name) FROM sqlite_master WHERE type = 'table' AND name LIKE '%segment'").Scan(&tables))
	return tables
}

// --config names a file with store.table_prefix and no DSN, which comes from SNOWLEASE_STORE.
func TestTablePrefixOfTheNamedFile(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("prod.yaml", []byte("idworker:\n  namespace: orders\n  store: {table_prefix: orders_}\n  segments: [{name: members}]\n"), 0o600))
	t.Setenv(envStore, "sqlite:app.db")
	code, _, errs := call(t, "", "init", "--yes", "--config=prod.yaml")
	require.Zero(t, code, errs)
	code, out, errs := call(t, "", "segment", "create", "--config=prod.yaml", "--name=members", "--start=501")
	require.Zero(t, code, errs)
	require.Contains(t, out, "created 501")
	require.Equal(t, "orders_segment", segmentTables(t))
	code, _, errs = call(t, "", "quarantine", "--yes", "--config=prod.yaml")
	require.Zero(t, code, errs)
}

// A series without a scope has a name with a dot at its end.
func TestSeriesWithoutAScope(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("app.db", nil, 0o600))
	t.Setenv(envStore, "sqlite:app.db")
	for _, args := range [][]string{{"create", "--start=501"}, {"resume", "--above=42", "--yes"}} {
		code, out, errs := call(t, "", append([]string{"segment"}, append(args, "--name=bills", "--period=2026-11-01")...)...)
		require.Equal(t, exitUsage, code, out)
		require.Contains(t, errs, "or bills. without a scope")
	}
	code, out, errs := call(t, "", "segment", "create", "--name=invoices.", "--period=none", "--start=501")
	require.Zero(t, code, errs)
	require.Contains(t, out, "created 501")
}

// busyReader is a terminal at which somebody thinks while numbers are taken.
type busyReader struct {
	meanwhile func()
	rest      *bytes.Reader
}

func (r *busyReader) Read(p []byte) (int, error) {
	if r.meanwhile != nil {
		r.meanwhile()
		r.meanwhile = nil
	}
	return r.rest.Read(p)
}

// A sequence that is above --above by the time of the answer stays there.
func TestResumeOfABusySeries(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("app.db", nil, 0o600))
	store, err := dbseq.OpenSegments("sqlite", "app.db")
	require.NoError(t, err)
	defer store.Close()
	const period int64 = 202611010000000000
	take := func(n int64) {
		_, err := store.Reserve(t.Context(), numberstore.Request{Name: "bills.acme", N: n, Start: period + 1, Above: period, Max: period + 9_999_999_999, Create: true})
		require.NoError(t, err)
	}
	take(40)
	var out, errs bytes.Buffer
	stdin := &busyReader{func() { take(5) }, bytes.NewReader([]byte("yes\n"))}
	code := run(t.Context(), []string{"segment", "resume", "--store=sqlite:app.db", "--name=bills.acme", "--period=2026-11-01", "--above=42"}, stdin, &out, &errs)
	require.Zero(t, code, errs.String())
	given, err := store.Given(t.Context(), "bills.acme")
	require.NoError(t, err)
	require.EqualValues(t, period+45, given)
}
