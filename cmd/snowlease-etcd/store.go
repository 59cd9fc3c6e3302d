package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/providers/secret"
)

var program = target.Program{
	Name:  "snowlease-etcd",
	Short: "Manage the worker ids of a service on etcd, and decode snowflake ids",
	Else:  " or $ETCDCTL_ENDPOINTS",
	Stores: `
Name the etcd with --store, or with ` + target.EnvStore + ` if it contains a password:

  etcd://user:password@host1:2379,host2:2379       etcds:// with TLS
  etcds://host/?ca_file=ca.pem&cert_file=client.pem&key_file=client.key
  etcd://host/team/snowlease                       the prefix of the keys, as in WithPrefix

Percent-encode reserved characters in a password. Passwords are never printed.

Without either, the store is ETCDCTL_ENDPOINTS. The variables ETCDCTL_USER, ETCDCTL_PASSWORD,
ETCDCTL_CACERT, ETCDCTL_CERT and ETCDCTL_KEY supply the settings that --store leaves out.`,
	Examines: `the connection,
and the identity of the cluster. It leaves members, space and alarms to etcdctl`,
	Parse: func(text string) (target.Target, error) { return parse(text, os.Getenv) },
	Default: func() (target.Target, string, error) {
		p, err := fromEnv(os.Getenv)
		return p, "ETCDCTL_ENDPOINTS", err
	},
}

// A place is an etcd cluster and a key prefix in it.
type place struct {
	etcdseq.Config
	Prefix string
}

// fromEnv reads the variables of etcdctl.
func fromEnv(env func(string) string) (p place, err error) {
	if text := env("ETCDCTL_ENDPOINTS"); text != "" {
		p.Endpoints = strings.Split(text, ",")
	} else {
		err = errors.New("--store is empty: give etcd://host:2379, or set ETCDCTL_ENDPOINTS; if it contains a password, use " + target.EnvStore)
	}
	user, password, _ := strings.Cut(env("ETCDCTL_USER"), ":")
	p.Username, p.Password = user, secret.String(cmp.Or(password, env("ETCDCTL_PASSWORD")))
	p.CAFile, p.CertFile, p.KeyFile = env("ETCDCTL_CACERT"), env("ETCDCTL_CERT"), env("ETCDCTL_KEY")
	return p.secured(), err
}

// parse parses the value of --store. Its errors contain no part of the value.
func parse(text string, env func(string) string) (place, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "etcd" && scheme != "etcds" {
		return place{}, errors.New("--store is not an etcd URL: begin it with etcd:// or etcds://; for SQL and Redis, use the command snowlease")
	}
	a, err := target.ParseAuthority(rest)
	if err != nil {
		return place{}, err
	}
	p, _ := fromEnv(env)
	p.Endpoints = a.WithPort("2379")
	if scheme == "etcds" {
		for i, h := range p.Endpoints {
			p.Endpoints[i] = "https://" + h
		}
	}
	if a.User != "" {
		p.Username, p.Password = a.User, secret.String(a.Password)
	}
	if a.Path = strings.Trim(a.Path, "/"); a.Path != "" {
		p.Prefix = a.Path + "/"
	}
	for key, values := range a.Query {
		to := map[string]*string{"ca_file": &p.CAFile, "cert_file": &p.CertFile, "key_file": &p.KeyFile}[key]
		if to == nil {
			return place{}, errors.New("--store: unknown setting: choose ca_file, cert_file, key_file")
		}
		*to = values[len(values)-1]
	}
	return p.secured(), nil
}

// secured gives endpoints without a scheme the scheme https if p has TLS files.
func (p place) secured() place {
	if p.CAFile+p.CertFile+p.KeyFile != "" {
		for i, h := range p.Endpoints {
			if !strings.Contains(h, "://") {
				p.Endpoints[i] = "https://" + h
			}
		}
	}
	return p
}

// Open implements target.Target.
func (p place) Open(ctx context.Context, with target.Options) (_ *target.Opened, err error) {
	p.Prefix = cmp.Or(with.Prefix, p.Prefix, etcdseq.DefaultPrefix)
	client, err := etcdseq.Open(ctx, p.Config)
	if err != nil {
		return nil, err
	}
	o := &target.Opened{Closes: []func() error{client.Close}}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	c, err := etcdseq.New(client, etcdseq.WithPrefix(p.Prefix))
	if err != nil {
		return nil, err
	}
	o.Center, o.Operator = c, c.Extras().Operator
	if _, err := o.Incarnation(ctx, "snowlease"); err != nil && !errors.Is(err, lease.ErrSetup) {
		return nil, fmt.Errorf("%s: cannot connect: %w: check that it runs and is reachable, and hosts, ports and TLS in %s", o, err, with.From)
	}
	return o, nil
}

// Again implements target.Target.
func (p place) Again(ctx context.Context, with target.Options) (*target.Opened, error) {
	return p.Open(ctx, with)
}
