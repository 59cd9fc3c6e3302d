//go:build prove

package publicid_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of ten million made-up texts none is an id.
func TestTenMillionRandomTexts(t *testing.T) {
	t.Parallel()
	c := sealed(t, "ord", secret, second)
	var (
		wg   sync.WaitGroup
		read [10]int
	)
	for part := range read {
		wg.Go(func() { read[part] = randomTexts(c, 26, 1_000_000, random(fmt.Sprint(part))) })
	}
	wg.Wait()
	require.Zero(t, read)
}
