package takeover_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate/takeover"
)

// After all worker ids of a namespace are taken over, processes with its configuration
// are refused for good, and the error says where the worker ids went. After a part is
// taken over, the other worker ids are lent as before.
func TestTakeRetires(t *testing.T) {
	t.Parallel()
	center, err := dbseq.Open("sqlite", filepath.Join(t.TempDir(), "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, center.Close()) })
	for namespace, last := range map[string]int64{"part": 2, "all": 3} {
		next := side(center, namespace+"-2", wide, 0, 15)
		for _, s := range []takeover.Side{side(center, namespace, narrow, 0, 3), next} {
			require.NoError(t, center.Init(t.Context(), s.Request))
		}
		r, err := takeover.Take(t.Context(), side(center, namespace, narrow, 0, last), next)
		require.NoError(t, err)
		require.Equal(t, namespace == "all", r.Retired)
		g, err := center.Acquire(t.Context(), side(center, namespace, narrow, 0, 3).Request)
		if namespace == "part" {
			require.NoError(t, err)
			require.Equal(t, int64(3), g.Worker)
			continue
		}
		var mismatch *lease.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.ErrorContains(t, err, `"all" is retired: its worker ids were taken over by namespace "all-2" of sqlite`)
		_, err = takeover.Take(t.Context(), side(center, namespace, narrow, 0, last), next)
		require.ErrorContains(t, err, "is retired")
	}
}
