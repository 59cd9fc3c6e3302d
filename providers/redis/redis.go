// Package redis opens a redis.UniversalClient from configuration: a single server,
// Sentinel or a cluster. It links no SQL driver.
//
//	fx.New(
//		fx.Supply(redis.Config{Addrs: []string{"127.0.0.1:6379"}}),
//		redis.Module,
//		idworker.Module, ...
//	)
//
// The client has the settings that leases need: contexts bound every command, and it never reads
// from replicas. Do not use the package in an application that opens its own client.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/internal/dsn"
)

// Module provides a redis.UniversalClient from a Config, and logs to the graph's *slog.Logger if
// there is one.
var Module = fx.Module("redis", fx.Provide(fx.Annotate(New, fx.ParamTags("", "", `optional:"true"`))))

// New returns a client for c, which connects when the application starts. New fails if c is
// invalid. The start fails if Redis does not answer. The stop closes the client after everything
// built on it has stopped, and so after the worker id is released. If log is nil, nothing is
// logged.
func New(lc fx.Lifecycle, c Config, log *slog.Logger) (redis.UniversalClient, error) {
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	// These must be two hooks, since fx skips the OnStop of a hook whose OnStart failed.
	lc.Append(fx.StopHook(client.Close))
	lc.Append(fx.StartHook(func(ctx context.Context) error {
		if err := ping(ctx, c, client); err != nil {
			return err
		}
		cmp.Or(log, slog.New(slog.DiscardHandler)).InfoContext(ctx, "redis is connected", "kind", c.kind(), "addrs", c.Addrs)
		return nil
	}))
	return client, nil
}

// Open returns a client for c without fx, after a ping within ctx and the connect timeout. The
// caller must close the client.
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
	c = c.withDefaults()
	o := &redis.UniversalOptions{
		Addrs: c.Addrs, MasterName: c.Master, IsClusterMode: c.Cluster, DB: c.DB,
		Username: c.Username, Password: string(c.Password),
		SentinelUsername: c.SentinelUsername, SentinelPassword: string(c.SentinelPassword),
		PoolSize: c.PoolSize, DialTimeout: c.ConnectTimeout,
		ReadTimeout: c.Timeout, WriteTimeout: c.Timeout,
		// Without this, go-redis ignores deadlines of contexts at the socket, and a renewal could
		// outlast its lease.
		ContextTimeoutEnabled: true,
	}
	var err error
	if o.TLSConfig, err = c.tlsConfig(); err != nil {
		return nil, err
	}
	return redis.NewUniversalClient(o), nil
}

// tlsConfig returns nil without TLS. go-redis sets the server name for each address.
func (c Config) tlsConfig() (*tls.Config, error) {
	if !c.TLS {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		text, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("providers: redis.ca_file: %w", dsn.File(err))
		}
		if t.RootCAs = x509.NewCertPool(); !t.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("providers: redis.ca_file %s has no certificate in PEM", c.CAFile)
		}
	}
	if c.CertFile != "" {
		own, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("providers: redis.cert_file and key_file: %w", dsn.File(err))
		}
		t.Certificates = []tls.Certificate{own}
	}
	return t, nil
}

func ping(ctx context.Context, c Config, client redis.UniversalClient) error {
	ctx, cancel := context.WithTimeout(ctx, c.withDefaults().ConnectTimeout)
	defer cancel()
	err := client.Ping(ctx).Err()
	if err == nil {
		return nil
	}
	what := "that it runs and is reachable at this address, and username, password, db and tls"
	if c.Master != "" {
		what = fmt.Sprintf("that the Sentinels run, are reachable at these addresses and watch %q, and the usernames, passwords, db and tls", c.Master)
	}
	return fmt.Errorf("providers: %s at %s: cannot connect: %w: check %s", c.kind(), strings.Join(c.Addrs, ", "), dsn.Hide(err, strings.Join(c.Addrs, " ")), what)
}
