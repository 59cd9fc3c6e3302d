// Goframe is a GoFrame service. A hook of its model fills the ids of inserted rows.
//
//	cd examples/frameworks && go run ./goframe
//	curl -X POST 127.0.0.1:8080/orders
package main

import (
	"context"
	"database/sql"
	"errors"
	"log"
	"net/http"
	"os/signal"
	"syscall"

	_ "github.com/gogf/gf/contrib/drivers/sqlite/v2" // also registers a driver "sqlite" of database/sql
	"github.com/gogf/gf/v2/database/gdb"
	"github.com/gogf/gf/v2/frame/g"
	"github.com/gogf/gf/v2/net/ghttp"

	"github.com/snowlease/snowlease"
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
	defer func() { err = errors.Join(err, closer()) }() // after the server has drained

	db, err := gdb.New(gdb.ConfigNode{Type: "sqlite", Link: "sqlite::@file(shop.db)"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	if _, err := db.Exec(ctx, `CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, total BIGINT NOT NULL)`); err != nil {
		return err
	}

	server := g.Server()
	server.SetAddr(shop.Address())
	server.BindHandler("POST:/orders", service{db, worker}.create)
	if err := server.Start(); err != nil {
		return err
	}
	// server.Run would return before the requests have ended.
	stopping, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	<-stopping.Done()
	return server.Shutdown()
}

type service struct {
	db     gdb.DB
	worker *snowlease.Worker
}

func (s service) create(r *ghttp.Request) {
	ctx := r.Context()
	if err := shop.Pay(ctx); err != nil {
		r.Response.WriteStatusExit(http.StatusBadGateway, err)
	}
	orders := s.db.Model("orders").Ctx(ctx).Hook(withIDs(s.worker))
	if _, err := orders.Insert(g.Map{"total": 5}); err != nil {
		r.Response.WriteStatusExit(http.StatusServiceUnavailable, err)
	}
	id, err := orders.OrderDesc("id").Value("id")
	if err != nil {
		r.Response.WriteStatusExit(http.StatusInternalServerError, err)
	}
	r.Response.WriteJson(id.Int64())
}

// withIDs fills the column id of inserted rows.
func withIDs(worker *snowlease.Worker) gdb.HookHandler {
	return gdb.HookHandler{Insert: func(ctx context.Context, in *gdb.HookInsertInput) (sql.Result, error) {
		ids := make([]int64, len(in.Data))
		if err := worker.NextIDs(ctx, ids); err != nil {
			return nil, err
		}
		for i, row := range in.Data {
			row["id"] = ids[i]
		}
		return in.Next(ctx)
	}}
}
