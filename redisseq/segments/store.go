package segments

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/redisseq/internal/conn"
	"github.com/snowlease/snowlease/segment"
)

var (
	_ segment.Store   = (*Store)(nil)
	_ segment.Creator = (*Store)(nil)
	_ fmt.Stringer    = (*Store)(nil)
)

// ErrChanged is returned by a Store on another server than before, which may have
// forgotten numbers that were given: after a restart, a failover, or something that
// looks like one (docs/engines.md, Redis). Nothing was reserved.
var ErrChanged = fmt.Errorf("redisseq: another Redis answers than before, and may have forgotten numbers that were given: call Store.Resume with a number that is above all in use and all that running processes have reserved ahead (stop them, or add twice max_step), or set quarantine: never if this Redis never loses an acknowledged write: %w", lease.ErrSetup)

// A Store reserves numbers on Redis alone. It is a segment.Store and safe for
// concurrent use.
//
// Choose dbseq.NewSegments, or NewDispenser in front of it, where there is a SQL
// database: a Redis knows of what it has lost only that it may have. A number is given
// twice after a loss that goes unseen, and the greatest number given is one hash,
// snowlease:{name}:segment, which is not made anew:
//
//   - A name must be created by Create, once; a request never creates it. Where the hash
//     is missing, because the data were wiped or the key was evicted or deleted, the
//     answer is segment.ErrUnknown, and an administrator creates the name above all
//     numbers in use or reserved ahead.
//   - On another server than the one on record the answer is ErrChanged until Resume.
//     redisseq.WithQuarantine(redisseq.Never) does not look: for a Redis that loses no
//     acknowledged write.
//   - A process that goes on issuing tells the store the greatest number it was given,
//     which repairs what it knows of.
type Store struct{ conn *conn.Conn }

var (
	//go:embed base.lua
	baseLua string
	//go:embed reserve.lua
	reserveLua string
	//go:embed create.lua
	createLua string

	reserve = load(reserveLua)
	create  = load(createLua)
)

func load(parts ...string) *redis.Script {
	return redis.NewScript(conn.Lua(append([]string{conn.ValuesLua, baseLua}, parts...)...))
}

// New returns a store on client, which stays the caller's to close. It does not
// connect. Clients and options are those of redisseq.New: with WithWaitReplicas numbers
// are given only when that many replicas know of it.
func New(client redis.UniversalClient, opts ...redisseq.Option) (*Store, error) {
	c, err := conn.New(client, opts...)
	if err != nil {
		return nil, err
	}
	return &Store{c}, nil
}

// String names the Redis, without user or password: "redis 127.0.0.1:6379 db 0".
func (s *Store) String() string { return s.conn.String() }

// Warnings returns what New could not check about the client, to be logged.
func (s *Store) Warnings() []string { return s.conn.Warnings() }

// Reserve is that of segment.Store. Errors besides those named there: ErrChanged,
// and ErrRunID, ErrReplica, ErrNotReplicated, ErrDamaged of package redisseq.
func (s *Store) Reserve(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	const verb = "reserve numbers of"
	got, err := deal(ctx, s.conn, conn.Call{Verb: verb, Name: r.Name, Script: reserve, Args: []any{r.N, r.Above, r.Max}, Waits: true}, "segment")
	if err != nil {
		return segment.Range{}, err
	}
	var given, last int64
	if err := got.Ints(&given, &last); err != nil {
		return segment.Range{}, s.conn.Wrap(verb, r.Name, err)
	}
	return segment.Range{First: given + 1, Last: last}, nil
}

// Create is that of segment.Creator. After a loss of data start must lie above all
// numbers in use and all that running processes have reserved ahead: stop them first.
func (s *Store) Create(ctx context.Context, name string, start int64) error {
	return s.make(ctx, "create", name, start)
}

// Resume lets a name go on after ErrChanged, above every number that is in use and all
// that running processes have reserved ahead, which is at most two segments each: stop
// them first, or leave room for that.
//
// Errors: segment.ErrUnknown, segment.ErrRequest.
func (s *Store) Resume(ctx context.Context, name string, above int64) error {
	return s.make(ctx, "resume", name, above+1)
}

func (s *Store) make(ctx context.Context, verb, name string, start int64) error {
	if err := (segment.Request{Name: name, N: 1, Start: start, Max: start}).Validate(); err != nil {
		return err
	}
	_, err := deal(ctx, s.conn, conn.Call{Verb: verb, Name: name, Script: create, Args: []any{verb, start - 1, rand.Text()}, Waits: true}, "segment")
	return err
}

// deal runs a script of numbers on the key of a name.
func deal(ctx context.Context, c *conn.Conn, call conn.Call, what string) (conn.Reply, error) {
	key := c.Key(call.Name, what)
	call.Keys, call.Args = []string{key}, append([]any{c.Quarantine}, call.Args...)
	call.Remedy = fmt.Sprintf("give the key %s another prefix if it is not snowlease's; if it is, delete it", key)
	if what == "segment" {
		call.Remedy += ", and create the name anew above all numbers in use"
	}
	call.Answer = func(r conn.Reply) (bool, error) {
		switch {
		case r[0] == "UNKNOWN":
			return true, fmt.Errorf("%w: %q at %s: create it once by Store.Create", segment.ErrUnknown, call.Name, c)
		case r[0] == "EXISTS":
			return true, fmt.Errorf("%w: %q at %s", segment.ErrExists, call.Name, c)
		case r[0] == "END" && len(r) == 2:
			return true, fmt.Errorf("%w: %q at %s is at %s", segment.ErrEnd, call.Name, c, r[1])
		case r[0] == "CHANGED" && len(r) == 3:
			return true, c.Wrap(call.Verb, call.Name, fmt.Errorf("%w: it was %q and is %q", ErrChanged, printable.Text(r[1]), printable.Text(r[2])))
		}
		return r[0] == "LATE" || r[0] == "BACK", nil
	}
	return c.Run(ctx, call)
}
