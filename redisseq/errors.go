package redisseq

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
)

var (
	// ErrClient is returned by New for a client that cannot keep the promise.
	ErrClient = errors.New("redisseq: the client cannot be used")
	// ErrRunID is returned where the server does not tell its run_id and master_replid,
	// so that a restart or a failover would pass unseen. Nothing was lent.
	ErrRunID = fmt.Errorf("redisseq: the server does not tell its run_id and master_replid (INFO server, INFO replication), so a restart or failover that loses grants would pass unseen: grant the user the command (ACL SETUSER name +info), or set quarantine: never if this Redis never loses an acknowledged write: %w", lease.ErrSetup)
	// ErrVersion is returned for a server older than Redis 6.2.
	ErrVersion = fmt.Errorf("redisseq: the server is older than Redis 6.2: %w", lease.ErrSetup)
	// ErrReplica is returned by a server that takes no writes. After a failover it
	// passes; where it stays, the client is connected to a replica.
	ErrReplica = errors.New("redisseq: the server is a read-only replica: connect to the master (a Sentinel client without ReplicaOnly)")
	// ErrNotReplicated is returned where fewer replicas than WithWaitReplicas asks for
	// have answered in time that they have a grant. It was not handed out, and the
	// outcome is unknown: a keeper asks again with the same owner, or goes on below the
	// ceiling it has.
	ErrNotReplicated = errors.New("redisseq: too few replicas have the grant: see whether they run and keep up (INFO replication), or lower wait_replicas")
	// ErrDamaged is returned where a record is not as a script wrote it. Nothing is
	// lent then.
	ErrDamaged = errors.New("redisseq: records are damaged")
)

// shown is what damaged in base.lua says; servers put more around it.
var shown = regexp.MustCompile(`snowlease<(.*)> end`)

// damaged says what is damaged, and the way out.
func (c *Center) damaged(namespace, what string) error {
	return fmt.Errorf("%w: %s: give the keys %s another prefix if they are not snowlease's; if they are, delete all four: ids go on above what was lent",
		ErrDamaged, what, strings.Join(c.keys(namespace), " "))
}

// translate makes an error of the server or the client readable.
func (c *Center) translate(namespace string, err error) error {
	text := err.Error()
	if m := shown.FindStringSubmatch(text); m != nil {
		return c.damaged(namespace, m[1])
	}
	switch {
	case strings.Contains(text, "WRONGTYPE"):
		return fmt.Errorf("%w: %w", c.damaged(namespace, "one of the keys is of another type"), err)
	case redis.IsReadOnlyError(err) || strings.Contains(text, "READONLY"):
		return fmt.Errorf("%w: %w", ErrReplica, err)
	}
	return err
}

func (c *Center) wrap(verb, namespace string, err error) error {
	return fmt.Errorf("redisseq: %s %q at %s: %w", verb, namespace, c, err)
}
