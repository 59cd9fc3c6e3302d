// Zap is an fx application that logs with zap, including the library's slog records.
//
//	cd examples/more && go run ./zap        # records in zap.local; Ctrl-C ends it
package main

import (
	"log"
	"log/slog"
	"path/filepath"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
)

func main() {
	dir, err := filepath.Abs("zap.local")
	if err != nil {
		log.Fatal(err)
	}
	fx.New(wiring(zap.NewProduction, dir)).Run()
}

// wiring returns an application that borrows a worker id of this host. dir holds the
// host's records; "" means the user's state directory.
func wiring(logger func(...zap.Option) (*zap.Logger, error), dir string) fx.Option {
	return fx.Options(
		fx.Provide(
			func() (*zap.Logger, error) { return logger() },
			// This *slog.Logger writes to zap.
			func(l *zap.Logger) *slog.Logger {
				return slog.New(zapslog.NewHandler(l.Core(), zapslog.WithName("idworker")))
			},
		),
		fx.WithLogger(func(l *zap.Logger) fxevent.Logger {
			return &fxevent.ZapLogger{Logger: l.WithOptions(zap.IncreaseLevel(zap.WarnLevel))}
		}),
		fx.Supply(idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Dir: dir}}),
		idworker.Module,
		fx.Invoke(func(*idworker.IdWorker) {}),
	)
}
