package dbseq_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/silent"
)

// mute is a server that never answers.
type mute struct{}

func (mute) Driver() driver.Driver { return nil }

func (mute) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestServerNeverAnswers calls everything without a deadline.
func TestServerNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := sql.OpenDB(mute{})
		defer pool.Close()
		c, err := dbseq.New(pool, dbseq.Postgres)
		require.NoError(t, err)
		numbers := segmentsOn(t, pool, dbseq.Postgres)
		silent.Calls(t, c, request("orders", 32))
		ctx := context.Background()
		_, given := numbers.HighWater(ctx, "shop/invoices")
		_, reserve := numbers.Reserve(ctx, numberstore.Request{Name: "shop/invoices", N: 1, Start: 1, Max: 9})
		for _, err := range []error{numbers.Create(ctx, "shop/invoices", 1), given, reserve} {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	})
}
