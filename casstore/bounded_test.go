package casstore_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/internal/test/limit"
)

// silent is a store that never answers.
type silent struct{}

func (silent) Load(ctx context.Context, _ string) (casstore.Record, error) {
	<-ctx.Done()
	return casstore.Record{}, ctx.Err()
}

func (silent) Swap(ctx context.Context, _, _ string, _ []byte) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// TestStoreNeverAnswers calls everything without a deadline.
func TestStoreNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit.EveryCall(t, casstore.New(silent{}), request("orders"))
	})
}
