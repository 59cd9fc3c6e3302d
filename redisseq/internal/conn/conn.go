// Package conn runs scripts on Redis for package redisseq and the packages below it:
// it loads them, waits for replicas, follows a cluster's masters, and makes replies and
// errors readable.
package conn

import (
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// Never is the Quarantine that compares no incarnations; any other does.
const Never = "never"

// A Conn is a client, and how scripts are run on it. Options set its exported fields
// before New returns. It is safe for concurrent use.
type Conn struct {
	Prefix      string // of all keys
	Quarantine  string
	Replicas    int // that must have what a script wrote: see Call.Waits
	WaitTimeout time.Duration

	client   redis.UniversalClient
	name     string
	warnings []string
}

// An Option of a Conn.
type Option func(*Conn) error

// New returns a Conn on client, or ErrClient. It does not connect.
func New(client redis.UniversalClient, opts ...Option) (*Conn, error) {
	name, warnings, err := inspect(client)
	errs := []error{err}
	c := &Conn{Prefix: "snowlease", Quarantine: "on-change", client: client, name: name, warnings: warnings}
	for _, opt := range opts {
		errs = append(errs, opt(c))
	}
	if err == nil {
		errs = append(errs, c.canWait())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// String names the Redis, without user or password.
func (c *Conn) String() string { return c.name }

// Warnings returns what New could not check about the client.
func (c *Conn) Warnings() []string { return slices.Clone(c.warnings) }

// Key is the key of what is kept of a name. All keys of a name are in one hash slot.
func (c *Conn) Key(name, what string) string { return c.Prefix + ":{" + name + "}:" + what }
