package dbseq

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "üü", text("üüü", 2))
	require.Equal(t, "a?b?", text("a\x00b\xff", 9))
}
