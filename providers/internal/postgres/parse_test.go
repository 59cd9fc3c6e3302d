package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseNamesAFile(t *testing.T) {
	t.Parallel()
	_, err := open(t.Context(), "host=h sslmode=verify-full sslrootcert=/nowhere/ca", 0)
	require.ErrorContains(t, err, "it names a file that cannot be read: open /nowhere/ca")
	_, err = open(t.Context(), "host=h sslmode=require sslcert=/nowhere/cert sslkey='-----BEGIN PRIVATE KEY-----MC4C'", 0)
	require.ErrorContains(t, err, "as if it were the file itself")
	require.NotContains(t, err.Error(), "MC4C")
}
