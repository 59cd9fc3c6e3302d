// Package redisconn runs Lua scripts on Redis for redisseq and the packages below it. It
// loads scripts, waits for replicas, follows a cluster's masters, and translates replies
// and errors.
package redisconn

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/option"
)

// A Conn runs scripts on a client. Options set its exported fields before New returns.
// It is safe for concurrent use.
type Conn struct {
	Prefix      string // prefix of all keys
	Durable     bool   // the server's identity is not compared
	Replicas    int    // how many must acknowledge a script's writes; see Call.Waits
	WaitTimeout time.Duration

	open    func() redis.UniversalClient // opens the Conn's own client
	cluster bool
	mu      sync.Mutex
	client  redis.UniversalClient // nil: the next call opens it
	calls   sync.RWMutex          // locked for reading by calls

	name     string
	addrs    []string // may contain a password, if they are URLs by mistake
	warnings []string
}

// An Option configures a Conn.
type Option = option.Option[Conn]

// New returns a Conn to the server of client. New does not connect.
func New(client redis.UniversalClient, opts ...Option) (*Conn, error) {
	const prefix = "snowlease"
	c := &Conn{Prefix: prefix}
	if err := errors.Join(option.All[Conn](opts)(c), c.connect(client)); err != nil {
		return nil, err
	}
	if c.Prefix != prefix { // keys of another prefix are another store in the same server
		c.name += ", keys " + c.Prefix + ":*"
	}
	return c, nil
}

// Close closes the client, if it is the Conn's own. The next call opens it again.
func (c *Conn) Close() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != nil && c.client != nil {
		err, c.client = c.client.Close(), nil
	}
	return err
}

func (c *Conn) server() redis.UniversalClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		c.client = c.open()
	}
	return c.client
}

// String returns the name of the server, without user and password, and the keys if their prefix
// is not the default.
func (c *Conn) String() string { return c.name }

// Warnings returns warnings about properties of the client that New could not check.
func (c *Conn) Warnings() []string { return slices.Clone(c.warnings) }

// Key returns the key called what of a name. All keys of a name are in one hash slot.
func (c *Conn) Key(name, what string) string { return c.Prefix + ":{" + name + "}:" + what }
