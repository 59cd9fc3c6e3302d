package chaos

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

var (
	duration = flag.Duration("chaos.duration", 15*time.Second, "how long faults are made on each engine; its topologies share it")
	seed     = flag.Uint64("chaos.seed", 0, "where the random choices begin; 0: anywhere")
	size     = flag.Int("chaos.processes", 24, "how many processes ask for the 16 worker ids")
	reportTo = flag.String("chaos.report", "", "file that gets a report in Markdown")
	losses   = flag.Int("chaos.losses", 1, "how many times as often as usual servers lose data")
	old      = flag.String("chaos.old", "", "test binary of another version, which every second process runs; empty: none")
	only     = flag.String("chaos.only", "", "regular expression of the faults that are made; empty: all")
)

func TestMain(m *testing.M) {
	if o := os.Getenv(orderVariable); o != "" {
		os.Exit(work(o))
	}
	redis.SetLogger(silence{}) // clients log about servers that are down
	testserver.Main(m,
		// A proxy connection that a toxic closed may leave a reading goroutine behind
		// (Shopify/toxiproxy: ToxicLink.read).
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
	)
}

// silence is a logger that discards everything.
type silence struct{}

// Printf does nothing.
func (silence) Printf(context.Context, string, ...any) {}
