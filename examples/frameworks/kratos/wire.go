//go:build wireinject

package main

import (
	"context"

	"github.com/go-kratos/kratos/v2"
	"github.com/google/wire"
)

func wireApp(ctx context.Context) (*kratos.App, func(), error) {
	panic(wire.Build(newWorker, newServer, newApp))
}
