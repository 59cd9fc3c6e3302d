// Kratos is a Kratos service whose parts google/wire puts together. The cleanups of its
// providers run after the server has drained.
//
//	cd examples/frameworks && go run ./kratos
//	curl -X POST 127.0.0.1:8080/orders
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/go-kratos/kratos/v2"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/examples/frameworks/shop"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	app, cleanup, err := wireApp(ctx)
	if err != nil {
		return err
	}
	defer cleanup()
	return app.Run() // returns when the requests have ended
}

// newWorker is the provider of the worker.
func newWorker(ctx context.Context) (*snowlease.Worker, func(), error) {
	worker, closer, err := shop.Open(ctx)
	return worker, func() {
		if err := closer(); err != nil {
			log.Print(err)
		}
	}, err
}

func newServer(worker *snowlease.Worker) *khttp.Server {
	// Kratos ends a request after a second unless it is told otherwise.
	server := khttp.NewServer(khttp.Address(shop.Address()), khttp.Timeout(0))
	server.Route("/").POST("/orders", func(c khttp.Context) error {
		id, err := shop.Order(c, worker)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, id)
	})
	return server
}

func newApp(server *khttp.Server) *kratos.App { return kratos.New(kratos.Server(server)) }
