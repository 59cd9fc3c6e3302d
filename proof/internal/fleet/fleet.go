// Package fleet is what the tests of fleets share with the program in worker, which is one
// process of the service that they run.
//
// The program reads an Order as one line of JSON from its standard input and prepares itself.
// At the next line it borrows a worker id. It then issues ids until SIGTERM or the end of its
// input, so no process outlives the tests. It writes Reports to its standard output, one line
// of JSON each, and its ids to a file.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redis/go-redis/v9"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

// The engines.
const (
	MySQL    = "mysql"
	Postgres = "postgres"
	Redis    = "redis"
	Etcd     = "etcd" // its DSN is the members, with commas between them
)

// An Order tells a process what to do.
type Order struct {
	Engine string // one of the above; empty in mode local
	DSN    string
	Config idworker.Config
	// IDs is the file that gets the ids, 8 bytes each, little-endian.
	IDs string
	// Limit is how many ids to issue before only holding the worker id; 0 means no limit.
	Limit int64
	// Forget breaks the protocol, which the tests must detect: the center learns that
	// the process used no id.
	Forget bool
}

// Center opens the store of the order and the center on it.
func (o Order) Center() (lease.Center, io.Closer, error) {
	var (
		client idworker.Option
		opened closers
	)
	switch o.Engine {
	case Etcd:
		c, err := etcdseq.Open(context.Background(), etcdseq.Config{Endpoints: strings.Split(o.DSN, ",")})
		if err != nil {
			return nil, nil, err
		}
		center, err := etcdseq.New(c)
		return center, c, err
	case Redis:
		c := redis.NewClient(&redis.Options{Addr: o.DSN, ContextTimeoutEnabled: true})
		client, opened = idworker.WithRedis(c), closers{c.Close}
	case MySQL, Postgres:
		dialect := mysql.Open
		if o.Engine == Postgres {
			dialect = postgres.Open
		}
		db, err := gorm.Open(dialect(o.DSN), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			return nil, nil, err
		}
		pool, err := db.DB()
		if err != nil {
			return nil, nil, err
		}
		pool.SetMaxIdleConns(0) // a server accepts a few hundred connections
		client, opened = idworker.WithDB(db), closers{pool.Close}
	default:
		return nil, nil, fmt.Errorf("fleet: engine %q is unknown", o.Engine)
	}
	center, err := idworker.NewCenter(o.Config, client)
	if err != nil {
		return nil, nil, errors.Join(err, opened.Close())
	}
	if closing := center.Extras().Close; closing != nil {
		opened = append(closers{closing}, opened...) // closed before what it depends on
	}
	return center, opened, nil
}

// closers are closed in order.
type closers []func() error

// Close closes all of them.
func (cs closers) Close() error {
	var errs []error
	for _, c := range cs {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Event is the kind of a Report.
type Event string

// The events. Lent, Renewed, Full and Returned are replies of the center and calls to
// it. They are reported before the process acts on them.
const (
	Ready    Event = "ready"    // waits for the line that starts it
	Lent     Event = "lent"     // a grant
	Renewed  Event = "renewed"  // the grant after a renewal
	Full     Event = "full"     // no worker id was free; Now and Soonest are set
	Returned Event = "returned" // about to give back the grant; LastUsed is set
	Started  Event = "started"  // issues ids
	Refused  Event = "refused"  // could not start, because of a *lease.NoFreeWorkerError if NoFree
	Done     Event = "done"     // ended cleanly; Issued and Losses are set
)

// A Report is a line of a process's standard output. Times are Unix milliseconds of
// the center's clock.
type Report struct {
	Event    Event  `json:"event"`
	Worker   int64  `json:"worker"`
	Token    int64  `json:"token,omitempty"`
	Now      int64  `json:"now,omitempty"`
	Floor    int64  `json:"floor,omitempty"`
	Ceiling  int64  `json:"ceiling,omitempty"`
	LastUsed int64  `json:"last_used,omitempty"`
	Soonest  int64  `json:"soonest,omitempty"`
	Issued   int64  `json:"issued,omitempty"` // ids in the file
	Losses   int64  `json:"losses,omitempty"` // leases lost
	NoFree   bool   `json:"no_free,omitempty"`
	Late     bool   `json:"late,omitempty"` // the worker id was not given back in time
	Error    string `json:"error,omitempty"`
}
