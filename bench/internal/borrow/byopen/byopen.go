// Package byopen is what the measured programs do that use idworker.Open.
package byopen

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/idworker"
)

// Print borrows a worker id from the store, prints an id and gives the worker id back.
func Print(store idworker.Clients) error {
	ctx := context.Background()
	w, err := idworker.Open(ctx, idworker.Config{Namespace: "bench"}, store)
	if err != nil {
		return err
	}
	fmt.Println(w.NextID())
	return w.Close()
}
