package conn

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
)

// The errors of package redisseq. They are documented there.
var (
	ErrClient        = errors.New("redisseq: the client cannot be used")
	ErrRunID         = fmt.Errorf("redisseq: the server does not reveal its run_id and master_replid (INFO server, INFO replication), so a restart or failover that loses grants would pass unnoticed: grant the user the command (ACL SETUSER name +info), or set quarantine: never if this Redis never loses an acknowledged write: %w", lease.ErrSetup)
	ErrVersion       = fmt.Errorf("redisseq: the server is older than Redis 6.2: %w", lease.ErrSetup)
	ErrReplica       = errors.New("redisseq: the server is a read-only replica: connect to the master (a Sentinel client without ReplicaOnly)")
	ErrNotReplicated = errors.New("redisseq: too few replicas have the grant: check that they run and keep up (INFO replication), or lower wait_replicas")
	ErrDamaged       = errors.New("redisseq: records are damaged")
)

// shown matches the error of damaged in values.lua, to which servers add more.
var shown = regexp.MustCompile(`snowlease<(.*)> end`)

// Damaged returns ErrDamaged with what is damaged and what to do.
func Damaged(what, remedy string) error {
	return fmt.Errorf("%w: %s: %s", ErrDamaged, what, remedy)
}

// translate returns the error of this package for an error of the server or the client,
// if there is one.
func translate(err error, remedy string) error {
	text := err.Error()
	if m := shown.FindStringSubmatch(text); m != nil {
		return Damaged(m[1], remedy)
	}
	switch {
	case strings.Contains(text, "WRONGTYPE"):
		return fmt.Errorf("%w: %w", Damaged("a key is of another type", remedy), err)
	case redis.IsReadOnlyError(err) || strings.Contains(text, "READONLY"):
		return fmt.Errorf("%w: %w", ErrReplica, err)
	}
	return err
}

// Wrap adds to err what failed, for which name, and where.
func (c *Conn) Wrap(verb, name string, err error) error {
	return fmt.Errorf("redisseq: %s %q at %s: %w", verb, name, c, err)
}
