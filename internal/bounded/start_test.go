package bounded_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/bounded"
)

// A start ends with wait, and before its own context, whose end would hide the error from fx.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for timeout, want := range map[time.Duration]time.Duration{
			time.Minute: 10 * time.Second, 10 * time.Second: 9500 * time.Millisecond, time.Second: 900 * time.Millisecond,
		} {
			parent, cancel := context.WithTimeout(t.Context(), timeout)
			ctx, stop := bounded.Start(parent, 10*time.Second)
			began := time.Now()
			<-ctx.Done()
			require.Equal(t, want, time.Since(began))
			require.NoError(t, parent.Err())
			stop()
			cancel()
		}
	})
}
