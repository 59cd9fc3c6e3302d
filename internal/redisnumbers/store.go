package redisnumbers

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"math"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
)

var (
	_ numberstore.Store   = (*Store)(nil)
	_ numberstore.Creator = (*Store)(nil)
	_ fmt.Stringer        = (*Store)(nil)
)

// ErrChanged is redisseq.ErrChanged.
var ErrChanged = fmt.Errorf("redisseq: the Redis restarted or failed over, and may have lost numbers: stop the processes, or allow twice max_step for each, and advance the name above all in use: snowlease segment advance: %w", lease.ErrSetup)

// A Store reserves numbers on Redis alone: see redisseq.Numbers.
type Store struct{ *redisconn.Conn }

//go:embed *.lua
var files embed.FS

var (
	segment   = redisconn.Script(files, "base.lua", "segment.lua")
	dispenser = redisconn.Script(files, "base.lua", "dispenser.lua")
)

// New returns a store with its own client, as redisseq.New does. It does not connect.
func New(client redis.UniversalClient, opts ...redisconn.Option) (*Store, error) {
	c, err := redisconn.New(client, opts...)
	if err != nil {
		return nil, err
	}
	return &Store{c}, nil
}

// check refuses requests that only SQL supports.
func check(r numberstore.Request) error {
	if r.Beside != "" {
		return fmt.Errorf("%w: Redis does not look at a name beside another: use SQL", numberstore.ErrRequest)
	}
	if r.NotAfter != 0 {
		return fmt.Errorf("%w: Redis reserves at any time: use SQL", numberstore.ErrRequest)
	}
	return numberstore.CheckName(r.Name)
}

// Reserve implements numbers.Store. Errors are numbers.ErrUnknown, numbers.ErrEnd,
// numberstore.ErrRequest, ErrChanged, lease.ErrDamaged, and ErrRunID, ErrReplica and
// ErrNotReplicated of package redisseq.
func (s *Store) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	return s.run(ctx, "reserve", "reserve numbers of", r)
}

// Create creates a name for administrators. The name includes the namespace, such as shop/orders.
// Its first number is start, at least 1. After a loss of data, stop running processes first, and
// choose start above all numbers in use or reserved ahead. Errors are numbers.ErrExists, which may
// follow a call whose reply was lost, numberstore.ErrRequest, and errors of package redisseq.
func (s *Store) Create(ctx context.Context, name string, start int64) error {
	_, err := s.run(ctx, "create", "create", numberstore.Request{Name: name, N: 1, Above: max(0, start-1), Max: start, Start: start})
	return err
}

// Advance continues a name after ErrChanged, above the given number. Choose it above all numbers
// in use or reserved ahead. Running processes have reserved at most two segments each: stop them
// first, or leave room for those segments. Advance creates no name, because a misspelled one
// would leave the right one behind.
//
// Errors are numbers.ErrUnknown, numberstore.ErrRequest for a number out of range, and errors of
// package redisseq.
func (s *Store) Advance(ctx context.Context, name string, above int64) error {
	if above == math.MaxInt64 {
		return fmt.Errorf("%w: no number is above %d", numberstore.ErrRequest, above)
	}
	_, err := s.run(ctx, "advance", "advance", numberstore.Request{Name: name, N: 1, Above: above, Max: above + 1, Start: above + 1})
	return err
}

// HighWater returns the greatest number issued for a name, or 0, even after ErrChanged. Errors
// are numbers.ErrUnknown, numberstore.ErrRequest, lease.ErrDamaged, and errors of package
// redisseq.
func (s *Store) HighWater(ctx context.Context, name string) (int64, error) {
	got, err := s.run(ctx, "look", "look at", numberstore.Request{Name: name, N: 1, Start: 1, Max: 1})
	return got.Last, err
}

// run runs a verb of segment.lua, which errors call does.
func (s *Store) run(ctx context.Context, verb, does string, r numberstore.Request) (numberstore.Range, error) {
	if err := check(r); err != nil {
		return numberstore.Range{}, err
	}
	call := redisconn.Call{Verb: does, Name: r.Name, Script: segment, Args: []any{verb, r.N, r.Above, r.Max}, Waits: verb != "look"}
	var given, last int64
	if err := deal(ctx, s.Conn, call, "segment", &given, &last); err != nil {
		return numberstore.Range{}, err
	}
	return numberstore.Range{First: given + 1, Last: last}, nil
}

// deal runs a script on the key of a name, and parses its reply.
func deal(ctx context.Context, c *redisconn.Conn, call redisconn.Call, what string, to ...*int64) error {
	namespace, name, _ := strings.Cut(call.Name, "/")
	if namespace == "" { // such as a record of a series; the user may have no right to the key
		return fmt.Errorf("%w: %q is kept in SQL", numberstore.ErrUnknown, call.Name)
	}
	key := c.Key(namespace, what+":"+name)
	call.Keys, call.Read = []string{key}, func(r redisconn.Reply) error { return r.Ints(to...) }
	call.Remedy = fmt.Sprintf("give the key %s another prefix if it is not snowlease's; if it is, delete it", key)
	if what == "segment" {
		call.Remedy += ", and create the name again above all numbers in use"
	}
	call.Answer = func(r redisconn.Reply) error {
		switch {
		case r[0] == "UNKNOWN":
			return fmt.Errorf("%w: %q at %s: %s", numberstore.ErrUnknown, call.Name, c, fault.CreateName(call.Name))
		case r[0] == "EXISTS":
			return fmt.Errorf("%w: %q", numberstore.ErrExists, call.Name)
		case r[0] == "END" && len(r) == 2:
			return fmt.Errorf("%w: %q at %s is at %s", numberstore.ErrEnd, call.Name, c, r[1])
		case r[0] == "CHANGED" && len(r) == 3:
			return c.Wrap(call.Verb, call.Name, fmt.Errorf("%w: it was %q and is %q", ErrChanged, cmp.Or(printable.Text(r[1]), "not compared (durable)"), printable.Text(r[2])))
		}
		return nil
	}
	return c.Run(ctx, call)
}
