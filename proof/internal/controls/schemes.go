package controls

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/lease"
)

// A Store is a kind of store that a scheme works on.
type Store string

// The stores.
const (
	Redis Store = "redis"
	SQL   Store = "sql"
)

// A Backend is the store itself. The client of the scheme's Store is set.
type Backend struct {
	Redis redis.UniversalClient
	DB    *gorm.DB // MySQL, MariaDB, PostgreSQL or SQLite
}

// A Clock returns a process's time of day. nil means time.Now.
type Clock func() time.Time

// A Scheme is one way to give a process its worker id.
type Scheme struct {
	Name  string // for tests and flags: lower case, with hyphens
	Title string // for people
	Known string // what it is known from
	Store Store
	// New returns the center of one process with the wall clock c. It opens, starts
	// and closes nothing. The center is safe for concurrent use.
	New func(b Backend, c Clock) lease.Center
}

// Schemes lists the schemes, from the simplest to the most careful.
func Schemes() []Scheme {
	return []Scheme{
		{"ticket", "auto-increment key mod N", "@EnableIdWorker, DB mode", SQL, newTicket},
		{"counter", "`INCR` mod N, the key expires", "@EnableIdWorker, Redis mode; hyperf", Redis, newCounter},
		{"least-score", "least score, taken without looking", "Adnc `WorkerNode`", Redis, newLeastScore},
		{"get-then-set", "`GET` then `SET`, `EXPIRE` without an owner", "yitter's registration helper", Redis, newGetThenSet},
		{"client-clock", "lease by the clients' clocks, a loss is only logged", "CosId machine ids on Redis", Redis, newClientClock},
	}
}

// errFull is the error of a scheme that sees all worker ids in use and does not know
// until when.
var errFull = errors.New("controls: every worker id is in use")

// grant lends a worker id forever, as far as the scheme knows. token is what the
// scheme remembers of the loan.
func (c Clock) grant(req lease.Request, worker, token int64) lease.Grant {
	now := c.now()
	return lease.Grant{
		Request: req, Worker: worker, Token: token,
		Now: now, Floor: now - 1, Ceiling: now + horizon.Milliseconds(), Since: now,
	}
}

const horizon = 10 * 365 * 24 * time.Hour

// again returns g with the current time.
func (c Clock) again(g lease.Grant) lease.Grant {
	g.Now = c.now()
	return g
}

func (c Clock) now() int64 {
	if c == nil {
		return time.Now().UnixMilli()
	}
	return c().UnixMilli()
}

// mod maps a running number to a worker id.
func mod(n int64, req lease.Request) int64 { return req.First + n%(req.Last-req.First+1) }

// key returns a key of the namespace. All keys of a namespace share a hash slot.
func key(req lease.Request, name string) string { return "controls:{" + req.Namespace + "}:" + name }

// open is a center that has nothing to close.
type open struct{}

func (open) Close() error { return nil }
