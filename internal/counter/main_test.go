package counter_test

import (
	"testing"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }
