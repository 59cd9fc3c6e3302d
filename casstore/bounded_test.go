package casstore_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/internal/test/silent"
)

// mute is a store that never answers.
type mute struct{}

func (mute) Load(ctx context.Context, _ string) (casstore.Record, error) {
	<-ctx.Done()
	return casstore.Record{}, ctx.Err()
}

func (mute) Swap(ctx context.Context, _, _ string, _ []byte) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// TestStoreNeverAnswers calls everything without a deadline.
func TestStoreNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent.Calls(t, casstore.New(mute{}), request("orders"))
	})
}
