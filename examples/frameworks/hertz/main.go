// Hertz is a Hertz service.
//
//	cd examples/frameworks && go run ./hertz
//	curl -X POST 127.0.0.1:8080/orders
package main

import (
	"context"
	"errors"
	"log"
	"net/http"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/examples/frameworks/shop"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	worker, closer, err := shop.Open(ctx)
	if err != nil {
		return err
	}
	// Not in h.OnShutdown: these hooks run while requests do.
	defer func() { err = errors.Join(err, closer()) }()

	h := server.Default(server.WithHostPorts(shop.Address()))
	h.POST("/orders", func(ctx context.Context, c *app.RequestContext) {
		id, err := shop.Order(ctx, worker)
		if err != nil {
			c.AbortWithMsg(err.Error(), http.StatusServiceUnavailable)
			return
		}
		c.JSON(http.StatusOK, id)
	})
	h.Spin() // returns when the requests have ended
	return nil
}
