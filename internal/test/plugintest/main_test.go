package plugintest

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// GORM's cache of prepared statements keeps a goroutine that never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"))
}
