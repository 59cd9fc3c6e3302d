package chaos

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// A store says how a process reaches the center.
type store struct {
	Kind  string   // single, sentinel, cluster, mysql, postgres, etcd, host
	Addrs []string // Redis: the server, the sentinels or the nodes; etcd: the members
	DSN   string   // SQL
	// Routes maps the address of a Redis node to the proxy for it.
	Routes map[string]string
	Dir    string // the slots of a host; the file of its clock is beside it
}

// The kinds of stores.
const (
	single    = "single"
	sentinel  = "sentinel"
	cluster   = "cluster"
	mysqlKind = "mysql" // MariaDB too
	postgre   = "postgres"
	etcd      = "etcd"
	oneHost   = "host"
)

const mainName = "main" // the sentinels' name for the master

// redis opens a client.
func (s store) redis() redis.UniversalClient {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if proxied, ok := s.Routes[addr]; ok {
			addr = proxied
		}
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, addr)
	}
	switch s.Kind {
	case sentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: mainName, SentinelAddrs: s.Addrs, Dialer: dial, ContextTimeoutEnabled: true,
		})
	case cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.Addrs, Dialer: dial, ContextTimeoutEnabled: true})
	}
	return redis.NewClient(&redis.Options{Addr: s.Addrs[0], Dialer: dial, ContextTimeoutEnabled: true})
}

// pool opens a database that keeps no idle connections, because a server accepts a few
// hundred.
func (s store) pool() (*sql.DB, error) {
	pool, err := sql.Open(s.driver(), s.DSN)
	if err == nil {
		pool.SetMaxIdleConns(0)
	}
	return pool, err
}

// driver returns the name of the SQL driver.
func (s store) driver() string {
	if s.Kind == postgre {
		return "pgx"
	}
	return "mysql"
}

// center opens the center on the store. That of a host may be broken.
func (s store) center(breaking string) (lease.Center, io.Closer, error) {
	switch s.Kind {
	case oneHost:
		c, err := s.local(breaking)
		return c, c, err
	case mysqlKind, postgre:
		c, err := dbseq.Open(s.driver(), s.DSN)
		return c, c, err
	case etcd:
		client, err := etcdseq.Open(context.Background(), etcdseq.Config{Endpoints: s.Addrs})
		if err != nil {
			return nil, nil, err
		}
		c, err := etcdseq.New(client)
		return c, client, err
	}
	client := s.redis()
	c, err := redisseq.New(client)
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return c, client, nil
}

// observed is a center whose replies are in the journal before the process acts on them.
type observed struct {
	lease.Center
	*journal
}

func (o observed) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := o.Center.Acquire(ctx, req)
	o.note(g, err)
	return g, err
}

func (o observed) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	renewed, err := o.Center.Renew(ctx, g)
	o.note(renewed, err)
	return renewed, err
}

func (o observed) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	o.lent(returned, g, lastUsed)
	err := o.Center.Release(ctx, g, lastUsed)
	if err != nil && !errors.Is(err, lease.ErrLost) { // given back late; not a loss
		o.put(entry{kind: called, outcome: unknown})
	}
	return err
}

func (o observed) note(g lease.Grant, err error) {
	if err == nil {
		o.lent(granted, g, g.Ceiling)
		return
	}
	e := entry{kind: called, outcome: unknown}
	quarantine := (*lease.QuarantineError)(nil)
	switch {
	case errors.Is(err, hostseq.ErrClockBehind):
		e.outcome = behind
	case errors.Is(err, lease.ErrDamaged):
		e.outcome = damaged
	case errors.As(err, new(*lease.NoFreeWorkerError)):
		e.outcome = full
	case errors.As(err, &quarantine):
		e.outcome, e.ceiling = quarantined, quarantine.Until.UnixMilli()
	case errors.Is(err, lease.ErrLost):
		e.outcome = lost
	case errors.As(err, new(*lease.MismatchError)), errors.As(err, new(*lease.ClockError)), errors.Is(err, lease.ErrSetup):
		e.outcome = refused
	}
	o.put(e)
}

// Ways to break the protocol, which the checks must detect.
const (
	forgetLastUse = "last use forgotten" // the center learns that no id was used
	ignoreCeiling = "ceiling ignored"    // the process continues past its ceiling and after a loss
)

// useless reports to the center behind it that no id was used.
type useless struct{ lease.Center }

func (f useless) Release(ctx context.Context, g lease.Grant, _ int64) error {
	return f.Center.Release(ctx, g, g.Floor)
}

// boundless returns grants without a ceiling, and never reports a loss.
type boundless struct{ lease.Center }

func (b boundless) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := b.Center.Acquire(ctx, req)
	return unbound(g, g), err
}

func (b boundless) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	bounded := g
	bounded.Ceiling = max(g.Floor+1, g.Ceiling-decade)
	renewed, err := b.Center.Renew(ctx, bounded)
	if errors.Is(err, lease.ErrLost) {
		g.Now = time.Now().UnixMilli()
		return g, nil
	}
	return unbound(renewed, g), err
}

// decade, in milliseconds, is far longer than any run.
const decade = int64(10 * 365 * 24 * time.Hour / time.Millisecond)

func unbound(g, before lease.Grant) lease.Grant {
	g.Ceiling = max(g.Ceiling+decade, before.Ceiling)
	return g
}

// observe keeps a journal of a center that the process may misuse. The journal has the
// true grants.
func observe(c lease.Center, j *journal, breaking string) lease.Center {
	switch breaking {
	case forgetLastUse:
		return observed{useless{c}, j}
	case ignoreCeiling:
		return boundless{observed{c, j}}
	}
	return observed{c, j}
}
