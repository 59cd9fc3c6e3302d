package etcdseq_test

import (
	"context"
	"fmt"
	"log"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/idworker"
)

func ExampleNew() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"etcd-0:2379", "etcd-1:2379", "etcd-2:2379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	center, err := etcdseq.New(client)
	if err != nil {
		log.Fatal(err)
	}
	ids, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = ids.Close() }()
	fmt.Println(ids.NextID())
}

func Example_module() {
	fx.New(
		fx.Supply(
			idworker.Config{Namespace: "orders"},
			etcdseq.Config{Endpoints: []string{"etcd-0:2379", "etcd-1:2379", "etcd-2:2379"}},
		),
		etcdseq.Client, // not if the application has a *clientv3.Client
		etcdseq.Module, idworker.Module,
		fx.Invoke(func(w *idworker.IdWorker) { /* w.NextID() from OnStart on */ }),
	).Run()
}
