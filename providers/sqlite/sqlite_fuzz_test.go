package sqlite

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
)

// FuzzDSN checks that parameters are only added: the file and given parameters stay.
func FuzzDSN(f *testing.F) {
	for _, dsn := range []string{"data/orders.db", "file:data/orders.db?_pragma=synchronous(1)", ":memory:", "file:x?mode=memory", "file:/x?mode=ro", "", "?", "a?%zz", "a??b", "a?_pragma=busy_timeout(1)&_txlock=deferred", "a?vfs=memdb&", "a?immutable=1#f"} {
		f.Add(dsn)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		target, err := open(t.Context(), dsn, time.Second)
		if err != nil {
			return
		}
		before, query, _ := strings.Cut(dsn, "?")
		after, added, _ := strings.Cut(target.Dialector.(*sqlite.Dialector).DSN, "?")
		whole, _, _ := strings.Cut(sqlitedsn.Absolute(dsn), "?")
		require.Equal(t, whole, after)
		require.True(t, strings.HasSuffix(after, strings.TrimPrefix(before, "file:")))
		require.NotContains(t, target.Address, "?")
		set, err := url.ParseQuery(query)
		require.NoError(t, err)
		all, err := url.ParseQuery(added)
		require.NoError(t, err)
		for key, values := range set {
			require.Equal(t, values, all[key][:len(values)], key)
		}
	})
}
