// Kitex is a Kitex service. It reads its IDL at run time, in place of generated code.
//
//	cd examples/frameworks && go run ./kitex
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"strconv"

	"github.com/cloudwego/kitex/pkg/generic"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/server/genericserver"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/examples/frameworks/kitex/idl"
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
	// Not in server.RegisterShutdownHook: these hooks run while requests do.
	defer func() { err = errors.Join(err, closer()) }()

	address, err := net.ResolveTCPAddr("tcp", shop.Address())
	if err != nil {
		return err
	}
	codec, err := idl.Thrift()
	if err != nil {
		return err
	}
	return genericserver.NewServer(&orders{worker}, codec, server.WithServiceAddr(address)).Run() // returns when the requests have ended
}

type orders struct{ worker *snowlease.Worker }

// GenericCall is the handler of every method.
func (o *orders) GenericCall(ctx context.Context, _ string, _ any) (any, error) {
	id, err := shop.Order(ctx, o.worker)
	return strconv.FormatInt(id, 10), err
}

var _ generic.Service = (*orders)(nil)
