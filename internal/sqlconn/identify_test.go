package sqlconn

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/lease"
)

// A server that goes away while a process starts is not a setup error, which would end
// the start: the process waits.
func TestConnectionLostWhileTheServerIsIdentified(t *testing.T) {
	t.Parallel()
	c, err := Open(ofDbseq, "sqlite", filepath.Join(t.TempDir(), "app.db"))
	require.NoError(t, err)
	require.NoError(t, c.Server(t.Context(), false))
	require.True(t, c.Compares())
	_, err = c.Identify(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = c.Identify(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, lease.ErrSetup)
}

func TestVariantsOfMySQL(t *testing.T) {
	t.Parallel()
	c := &Conn{}
	never := &Conn{Set: Options{Durable: true}}
	for _, v := range []struct {
		has    map[string]string
		center *Conn
		want   string // part of the incarnation or of the error
	}{
		{map[string]string{"server_uuid": "u", "binlog_format": "ROW"}, c, incarnationMySQL},
		{map[string]string{"server_uuid": "u", "binlog_format": "MIXED"}, c, incarnationMySQL},
		{map[string]string{"server_uuid": "u", "binlog_format": "STATEMENT"}, c, "set it to ROW or MIXED"},
		{map[string]string{"server_uuid": "u", "binlog_format": "STATEMENT"}, never, incarnationMySQL},
		{map[string]string{"binlog_format": "STATEMENT"}, c, incarnationMariaDB},
		{map[string]string{"server_uid": "d"}, c, "CONCAT(@@global.server_id, '/', @@server_uid, '/', @@host" + strings.TrimPrefix(incarnationMariaDB, "CONCAT(@@global.server_id, '/', @@host")},
	} {
		_, err := v.center.variantOf(v.has)
		require.ErrorContains(t, err, "without sql_select_limit", "some are not shown")
		v.has["tx_isolation"] = "REPEATABLE-READ"
		got, err := v.center.variantOf(v.has)
		if err != nil {
			require.ErrorIs(t, err, lease.ErrSetup)
			require.ErrorContains(t, err, v.want)
			continue
		}
		require.Equal(t, v.want, got, "%v", v.has)
	}
}
