package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers/secret"
)

var program = target.Program{
	Name:  "snowlease-etcd",
	Short: "Manage the worker ids of a service on etcd, and decode snowflake ids",
	Stores: `
Name the etcd with --store, or with ` + target.EnvStore + ` if it contains a password:

  etcd://user:password@host1:2379,host2:2379       etcds:// with TLS
  etcds://host/?ca_file=ca.pem&cert_file=client.pem&key_file=client.key
  etcd://host/team/snowlease                       the prefix of the keys, as in WithPrefix

Percent-encode reserved characters in a password. Passwords are never printed.`,
	Examines: `the connection,
and the identity of the cluster. It leaves members, space and alarms to etcdctl`,
	Parse: func(text string) (target.Target, error) { return parse(text) },
}

// A place is an etcd cluster and a key prefix in it.
type place struct {
	etcdseq.Config
	Prefix string
}

// parse parses the value of --store. Its errors contain no part of the value.
func parse(text string) (place, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "etcd" && scheme != "etcds" {
		return place{}, errors.New("--store is not an etcd URL: begin it with etcd:// or etcds://; for SQL and Redis, use the command snowlease")
	}
	a, err := target.ParseAuthority(rest, "2379")
	if err != nil {
		return place{}, err
	}
	p := place{Config: etcdseq.Config{Endpoints: a.Hosts, Username: a.User, Password: secret.String(a.Password)}}
	if err := a.Set(map[string]*string{"ca_file": &p.CAFile, "cert_file": &p.CertFile, "key_file": &p.KeyFile}); err != nil {
		return place{}, err
	}
	if scheme == "etcds" {
		for i, h := range p.Endpoints {
			p.Endpoints[i] = "https://" + h
		}
	}
	if path := strings.Trim(a.Path, "/"); path != "" {
		p.Prefix = path + "/"
	}
	return p, nil
}

// Open implements target.Target.
func (p place) Open(ctx context.Context, o *target.Opened, with target.Options) error {
	p.Prefix = cmp.Or(with.Prefix, p.Prefix, etcdseq.DefaultPrefix)
	client, err := etcdseq.Open(ctx, p.Config)
	if err != nil {
		return fmt.Errorf("%s: %w", with.From, err)
	}
	o.Closes = append(o.Closes, client.Close)
	c, err := etcdseq.New(client, etcdseq.WithPrefix(p.Prefix))
	if err != nil {
		return err
	}
	o.Use(c)
	if _, err := o.Incarnation(ctx, "snowlease"); err != nil && !errors.Is(err, lease.ErrSetup) {
		return fmt.Errorf("%s: cannot connect: %w: check that it runs and is reachable, and hosts, ports and TLS in %s", o, err, with.From)
	}
	return nil
}
