package plugintest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) {
	// GORM's cache of prepared statements keeps a goroutine that never ends.
	testserver.Main(m, goleak.IgnoreAnyFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"))
}
