package lease_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A password that somebody put into the wrong variable is not shown.
func TestNamespaceThatIsAnAddress(t *testing.T) {
	t.Parallel()
	for _, ns := range []string{"mysql://app:s3cr3t@db/shop", "app:s3cr3t@tcp(db)/shop", "host=db password=s3cr3t"} {
		err := lease.CheckNamespace(ns)
		require.ErrorContains(t, err, "look like an address")
		require.NotContains(t, err.Error(), "s3cr3t")
	}
	require.ErrorContains(t, lease.CheckNamespace("my orders"), `"my orders" is not`)
}

// FuzzCheckNamespace checks that accepted names are safe in Redis keys and SQL rows.
func FuzzCheckNamespace(f *testing.F) {
	for _, s := range []string{"orders", "a.b_c-D9", "", "a b", "a}b", "ü", "a\n", strings.Repeat("n", 64), strings.Repeat("n", 65)} {
		f.Add(s)
	}
	plain := regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, plain.MatchString(s), lease.CheckNamespace(s) == nil, "%q", s)
	})
}
