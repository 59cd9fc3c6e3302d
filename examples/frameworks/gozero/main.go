// Gozero is a go-zero service. Its handlers use a worker that main sets.
//
//	cd examples/frameworks && go run ./gozero
//	curl -X POST 127.0.0.1:8080/orders
package main

import (
	"context"
	"errors"
	"log"
	"net/http"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/examples/frameworks/shop"
)

// worker is set before the server starts.
var worker *snowlease.Worker

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	var closer func() error
	worker, closer, err = shop.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer()) }() // after the server has drained

	var c rest.RestConf
	if err := conf.FillDefault(&c); err != nil {
		return err
	}
	c.Name, c.Host, c.Port = "orders", "127.0.0.1", shop.Port()
	server, err := rest.NewServer(c)
	if err != nil {
		return err
	}
	defer server.Stop()
	server.AddRoute(rest.Route{Method: http.MethodPost, Path: "/orders", Handler: func(w http.ResponseWriter, r *http.Request) {
		id, err := shop.Order(r.Context(), worker)
		if err != nil {
			httpx.ErrorCtx(r.Context(), w, err)
			return
		}
		httpx.OkJsonCtx(r.Context(), w, id)
	}})
	server.Start() // returns when the requests have ended
	return nil
}
