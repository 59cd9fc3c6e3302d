// Package redis opens a redis.UniversalClient from configuration: a single server,
// Sentinel or a cluster. It links no SQL driver.
//
//	fx.New(
//		fx.Supply(redis.Config{Addrs: []string{"127.0.0.1:6379"}}),
//		redis.Module,
//		idworker.Module, ...
//	)
//
// The client is set up as leases need it: contexts bound every command, and nothing is
// read from replicas. Do not use it where the application opens its client already.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
)

// Module provides a redis.UniversalClient from a Config.
var Module = fx.Module("redis", fx.Provide(New))

// Params are what New takes from fx. Logger is optional.
type Params struct {
	fx.In

	Config    Config
	Lifecycle fx.Lifecycle
	Logger    *slog.Logger `optional:"true"`
}

// New returns a client for p.Config, which connects when the application starts. The
// start fails when Redis does not answer; the client is closed when the application
// stops, after everything that was built on it has stopped, so after its worker id
// has been given back.
func New(p Params) (redis.UniversalClient, error) {
	client, err := newClient(p.Config)
	if err != nil {
		return nil, err
	}
	// Two hooks: fx runs no OnStop of a hook whose own OnStart has failed.
	p.Lifecycle.Append(fx.StopHook(client.Close))
	p.Lifecycle.Append(fx.StartHook(func(ctx context.Context) error {
		if err := ping(ctx, p.Config, client); err != nil {
			return err
		}
		if p.Logger != nil {
			p.Logger.InfoContext(ctx, "redis is connected", "kind", p.Config.kind(), "addrs", p.Config.Addrs)
		}
		return nil
	}))
	return client, nil
}

// Open returns a client for c that has pinged within ctx and the connect timeout,
// without fx. The caller closes it.
func Open(ctx context.Context, c Config) (redis.UniversalClient, error) {
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	if err := ping(ctx, c, client); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

func newClient(c Config) (redis.UniversalClient, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	o := &redis.UniversalOptions{
		Addrs: c.Addrs, MasterName: c.Master, IsClusterMode: c.Cluster, DB: c.DB,
		Username: c.Username, Password: string(c.Password),
		SentinelUsername: c.SentinelUsername, SentinelPassword: string(c.SentinelPassword),
		PoolSize: c.PoolSize, DialTimeout: c.ConnectTimeout,
		ReadTimeout: c.Timeout, WriteTimeout: c.Timeout,
		// Off by default in go-redis: a deadline would not reach the socket then, and a
		// renewal could outlast its lease.
		ContextTimeoutEnabled: true,
	}
	if c.TLS {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} // the name is that of each address
	}
	return redis.NewUniversalClient(o), nil
}

func ping(ctx context.Context, c Config, client redis.UniversalClient) error {
	ctx, cancel := context.WithTimeout(ctx, c.WithDefaults().ConnectTimeout)
	defer cancel()
	err := client.Ping(ctx).Err()
	if err == nil {
		return nil
	}
	what := "that it runs and can be reached there, and username, password, db and tls"
	if c.Master != "" {
		what = fmt.Sprintf("that the Sentinels run and can be reached there and watch %q, and the usernames, passwords, db and tls", c.Master)
	}
	return fmt.Errorf("providers: %s at %s: cannot connect: %w: check %s in redis", c.kind(), strings.Join(c.Addrs, ", "), err, what)
}
