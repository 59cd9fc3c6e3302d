//go:build prove

package testserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyOneEngine(t *testing.T) {
	for name, wants := range map[string]bool{"": true, "redis": true, "mariadb": false, "sqlite": false, "mariadb,redis": true, "mariadb,postgres": false} {
		t.Setenv(onlyVariable, name)
		rec := &recorder{TB: t}
		done := make(chan struct{})
		go func() { // Skip ends the goroutine
			defer close(done)
			only(rec, &redis)
		}()
		<-done
		require.Equal(t, !wants, rec.skipped, name)
	}
	for _, e := range []*engine{&node, &sentinel} {
		require.Equal(t, redis.key(), e.key())
	}
	require.Equal(t, "postgres", postgres.key())
}
