// Orders borrows its worker id from etcd, prints an id and waits for Ctrl-C, which releases the
// worker id.
//
//	apt-get install etcd-server && etcd &    # or the container of etcd, with port 2379
//	go run github.com/snowlease/snowlease/etcdseq/examples/orders@latest
//
// The first run takes some seconds, and its ids carry times up to 30 s ahead of the clock,
// unless "snowlease-etcd init --namespace orders" has created the namespace.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/idworker"
)

func main() {
	endpoints := flag.String("endpoints", "127.0.0.1:2379", "host:port of each member, separated by commas")
	flag.Parse()
	app := orders(os.Stdout, strings.Split(*endpoints, ",")...)
	ctx := context.Background()
	if err := app.Start(ctx); err != nil {
		log.Fatal(err)
	}
	<-app.Done()
	if err := app.Stop(ctx); err != nil {
		log.Fatal(err)
	}
}

func orders(out io.Writer, endpoints ...string) *fx.App {
	return fx.New(
		fx.Supply(idworker.Config{Namespace: "orders"}, etcdseq.Config{Endpoints: endpoints}),
		etcdseq.Client, etcdseq.Module, idworker.Module, fx.NopLogger,
		fx.Invoke(func(lc fx.Lifecycle, ids *idworker.IdWorker) {
			lc.Append(fx.StartHook(func() error {
				id, err := ids.NextID() // ids are available from OnStart onward
				_, printed := fmt.Fprintln(out, "the first id of worker", ids.Status().Worker, "is", id)
				return errors.Join(err, printed)
			}))
		}),
	)
}
