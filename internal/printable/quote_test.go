package printable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/printable"
)

// A cron schedule and a host with a port are shown, an address with a password is not.
func TestQuote(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"orders", "@every 10s", "127.0.0.1:6379", ""} {
		require.Equal(t, `"`+s+`"`, printable.Quote(s))
	}
	require.Equal(t, `"a?b"`, printable.Quote("a\x1bb"))
	for _, s := range []string{"redis://app:s3cr3t@db", "app:s3cr3t@tcp(db)/shop", "host=db password=s3cr3t", "app.db&_auth_pass=s3cr3t", "app.db;key=s3cr3t"} {
		require.NotContains(t, printable.Quote(s), "s3cr3t")
	}
}
