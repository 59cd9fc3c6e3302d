package generator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

// NextIDWait waits for the range that follows a Drop, and not before the first range: its
// caller may be the one that has to start the generator.
func TestNextIDWaitAfterDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(t0)))
		b := newBench(t, snowflake.Layout{})
		b.Drop()
		_, err := b.NextIDWait(context.Background())
		require.ErrorIs(t, err, ErrNotStarted)

		b.adopt(t, lent(1, t0, time.Minute))
		before := b.next(t)
		b.Drop()
		b.Drop()
		type answer struct {
			id  int64
			err error
		}
		answers := make(chan answer, 3)
		wait := func(ctx context.Context) {
			go func() {
				id, err := b.NextIDWait(ctx)
				answers <- answer{id, err}
			}()
			synctest.Wait()
		}
		wait(context.Background())
		require.Empty(t, answers)
		_, err = b.NextID()
		require.ErrorIs(t, err, ErrNotStarted, "NextID does not wait")
		b.adopt(t, lent(2, t0+1000, time.Minute))
		synctest.Wait()
		got := <-answers
		require.NoError(t, got.err)
		p, err := b.Layout().Decode(got.id)
		require.NoError(t, err)
		require.EqualValues(t, 2, p.Worker)
		require.True(t, p.Time.After(before.Time))

		b.Drop()
		cause := errors.New("the caller gave up")
		ctx, cancel := context.WithCancelCause(context.Background())
		wait(ctx)
		wait(context.Background())
		require.Empty(t, answers)
		cancel(cause)
		got = <-answers
		require.ErrorIs(t, got.err, ErrNotStarted)
		require.ErrorIs(t, got.err, cause)
		b.Stop()
		got = <-answers
		require.ErrorIs(t, got.err, ErrClosed)
	})
}
