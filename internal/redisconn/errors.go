package redisconn

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/lease"
)

// The errors of package redisseq, which documents them.
var (
	ErrClient        = errors.New("redisseq: the client cannot be used")
	ErrRunID         = fmt.Errorf("redisseq: the user may not read run_id and master_replid, which show a restart or failover: ACL SETUSER name +info, or set durable: true if this Redis loses no acknowledged write: %w", lease.ErrSetup)
	ErrVersion       = fmt.Errorf("redisseq: the server is older than Redis 6.2: %w", lease.ErrSetup)
	ErrReplica       = errors.New("redisseq: the server is a read-only replica: connect to the master (a Sentinel client without ReplicaOnly)")
	ErrNotReplicated = errors.New("redisseq: too few replicas have the grant: check that they run and keep up (INFO replication), or lower wait_replicas")
)

var (
	// shown matches the error of damaged in prelude.lua, which servers extend.
	shown = regexp.MustCompile(`snowlease<(.*)> end`)
	// unknown matches the error for a command that a script calls and the server does not have.
	unknown = regexp.MustCompile(`(?i)unknown (redis )?command`)
)

// translate returns the error of this package that corresponds to an error of the server or the
// client, if there is one.
func (c *Conn) translate(err error) error {
	text := err.Error()
	if m := shown.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%w: %s", lease.ErrDamaged, m[1])
	}
	switch {
	case strings.Contains(text, "WRONGTYPE"):
		return fmt.Errorf("%w: a key is of another type: %w", lease.ErrDamaged, err)
	case unknown.MatchString(text):
		return fmt.Errorf("%w: %w", ErrVersion, err)
	case redis.IsReadOnlyError(err) || strings.Contains(text, "READONLY"):
		return fmt.Errorf("%w: %w", ErrReplica, err)
	case strings.HasPrefix(text, "MOVED ") && !c.cluster:
		return fmt.Errorf("%w: the server is a node of a cluster: pass a *redis.ClusterClient", err)
	case redis.IsAuthError(err):
		return fmt.Errorf("%w: check the user name and the password of the client: %w", err, lease.ErrSetup)
	case Denied(err):
		return fmt.Errorf("%w: grant the user the commands and the keys %s, as docs/engines.md lists them (ACL SETUSER): %w", err, c.Key("NAME", "*"), lease.ErrSetup)
	case errors.Is(err, redis.ErrClosed) && !c.cluster: // a cluster client closes the clients of nodes that leave
		return fmt.Errorf("%w: the client was closed before this call: close it after the last one: %w", err, lease.ErrSetup)
	case c.open == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrPoolTimeout)):
		return fmt.Errorf("%w (the client's pool is shared: if the application keeps all its connections busy, as in BLPOP, pass another client)", err)
	}
	return err
}

// Denied reports whether err means that the server denies the user a command or a key. Servers
// phrase that in several ways for a command within a script.
func Denied(err error) bool {
	text := err.Error()
	return redis.IsPermissionError(err) || strings.Contains(text, "NOPERM") ||
		strings.Contains(text, "The user executing the script can't") || strings.Contains(text, "has no permissions to")
}

// Wrap adds to err, unless it is nil, the operation that failed, its name, and the server.
func (c *Conn) Wrap(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisseq: %s %q at %s: %w", verb, name, c, dsn.Hide(err, c.name, c.addrs...))
}
