// Center is an fx application with two databases. It leases from the one with the name tag
// "main", through a center of its own that logs each renewal.
//
//	cd examples/more && go run ./center     # SQLite in main.db and report.db; Ctrl-C ends it
package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/libtnb/sqlite"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

// traced logs renewals. It embeds the center, and so keeps everything else that it offers.
type traced struct{ lease.Center }

func (t traced) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	began := time.Now()
	renewed, err := t.Center.Renew(ctx, g)
	slog.InfoContext(ctx, "renewed", "worker", g.Worker, "took", time.Since(began), "err", err)
	return renewed, err
}

func main() { fx.New(wiring("main.db", "report.db"), idworker.GORM).Run() }

func wiring(dsn, report string) fx.Option {
	return fx.Options(
		fx.Supply(idworker.Config{Namespace: "center-orders"}),
		fx.Provide(
			fx.Annotate(func() (*gorm.DB, error) { return gorm.Open(sqlite.Open(dsn)) }, fx.ResultTags(`name:"main"`)),
			func() (*gorm.DB, error) { return gorm.Open(sqlite.Open(report)) },
			fx.Annotate(open, fx.ParamTags("", `name:"main"`)),
		),
		idworker.Module,
		fx.Invoke(func(lease.Center, *idworker.IdWorker) {}), // a center that lacks a dependency is an error
	)
}

// open returns what idworker.Module prefers to any *gorm.DB or Redis client: a lease.Center.
func open(lc fx.Lifecycle, db *gorm.DB) (lease.Center, error) {
	c, err := gormdb.Center(db)
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(c.Close))
	return traced{c}, nil
}
