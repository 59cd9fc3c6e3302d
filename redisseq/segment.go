package redisseq

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/segment"
)

var (
	_ segment.Store   = (*Segments)(nil)
	_ segment.Creator = (*Segments)(nil)
	_ fmt.Stringer    = (*Segments)(nil)
)

// ErrChanged is returned by Segments on another server than before, which may have
// forgotten numbers that were given: after a restart, a failover, or something that
// looks like one (docs/engines.md, Redis). Nothing was reserved.
var ErrChanged = fmt.Errorf("redisseq: another Redis answers than before, and may have forgotten numbers that were given: call Segments.Resume with a number that is above all in use and all that running processes have reserved ahead (stop them, or add twice max_step), or set quarantine: never if this Redis never loses an acknowledged write: %w", lease.ErrSetup)

// Segments reserves numbers on Redis alone. It is a segment.Store and safe for
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
//     WithQuarantine(Never) does not look: for a Redis that loses no acknowledged write.
//   - A process that goes on issuing tells the store the greatest number it was given,
//     which repairs what it knows of.
type Segments struct {
	c               *Center
	reserve, create *redis.Script
}

var (
	//go:embed segment_base.lua
	segmentBaseLua string
	//go:embed segment_reserve.lua
	segmentReserveLua string
	//go:embed segment_create.lua
	segmentCreateLua string
)

// NewSegments returns a store on client, which stays the caller's to close. It does not
// connect. Clients and options are those of New: with WithWaitReplicas numbers are given
// only when that many replicas know of it.
func NewSegments(client redis.UniversalClient, opts ...Option) (*Segments, error) {
	c, err := New(client, opts...)
	if err != nil {
		return nil, err
	}
	script := func(parts ...string) *redis.Script { return redis.NewScript(strings.Join(parts, "\n")) }
	return &Segments{
		c:       c,
		reserve: script(baseLua, segmentBaseLua, segmentReserveLua),
		create:  script(baseLua, segmentBaseLua, segmentCreateLua),
	}, nil
}

// String names the Redis, without user or password: "redis 127.0.0.1:6379 db 0".
func (s *Segments) String() string { return s.c.String() }

// Warnings returns what NewSegments could not check about the client, to be logged.
func (s *Segments) Warnings() []string { return s.c.Warnings() }

// Reserve is that of segment.Store. Errors besides those named there: ErrChanged,
// ErrRunID, ErrReplica, ErrDamaged.
func (s *Segments) Reserve(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	got, err := s.c.deal(ctx, s.reserve, "reserve numbers of", r.Name, "segment", r.N, r.Above, r.Max)
	if err != nil {
		return segment.Range{}, err
	}
	var given, last int64
	if err := got.ints(&given, &last); err != nil {
		return segment.Range{}, s.c.wrap("reserve numbers of", r.Name, err)
	}
	return segment.Range{First: given + 1, Last: last}, nil
}

// Create is that of segment.Creator. After a loss of data start must lie above all
// numbers in use and all that running processes have reserved ahead: stop them first.
func (s *Segments) Create(ctx context.Context, name string, start int64) error {
	return s.make(ctx, "create", name, start)
}

// Resume lets a name go on after ErrChanged, above every number that is in use and all
// that running processes have reserved ahead, which is at most two segments each: stop
// them first, or leave room for that.
//
// Errors: segment.ErrUnknown, segment.ErrRequest.
func (s *Segments) Resume(ctx context.Context, name string, above int64) error {
	return s.make(ctx, "resume", name, above+1)
}

func (s *Segments) make(ctx context.Context, verb, name string, start int64) error {
	if err := (segment.Request{Name: name, N: 1, Start: start, Max: start}).Validate(); err != nil {
		return err
	}
	_, err := s.c.deal(ctx, s.create, verb, name, "segment", verb, start-1, rand.Text())
	return err
}

// deal runs a script of numbers on the key of a name, and returns its reply if that is
// OK or one that only the caller knows.
func (c *Center) deal(ctx context.Context, script *redis.Script, verb, name, what string, args ...any) (reply, error) {
	key := c.prefix + ":{" + name + "}:" + what
	keys, args := []string{key}, append([]any{string(c.quarantine)}, args...)
	// A dispenser's numbers are the store's behind it, which no Redis gives twice.
	waits := c.replicas > 0 && what == "segment"
	out, err := within(ctx, func() (out answered, err error) {
		if waits {
			out, err = c.runAndWait(ctx, script, keys, args)
		} else {
			out.reply, err = script.Run(ctx, c.client, keys, args...).Result()
		}
		c.refresh(ctx, err)
		return out, err
	})
	if err != nil {
		return nil, c.wrap(verb, name, dealError(key, err))
	}
	r, err := parse(out.reply)
	switch {
	case err != nil:
	case waits && r[0] == "OK" && out.replicas < int64(c.replicas): // what was reserved is skipped
		err = fmt.Errorf("%w: %d of %d", ErrNotReplicated, out.replicas, c.replicas)
	case r[0] == "UNKNOWN":
		return nil, fmt.Errorf("%w: %q at %s: create it once by Segments.Create", segment.ErrUnknown, name, c)
	case r[0] == "EXISTS":
		return nil, fmt.Errorf("%w: %q at %s", segment.ErrExists, name, c)
	case r[0] == "END" && len(r) == 2:
		return nil, fmt.Errorf("%w: %q at %s is at %s", segment.ErrEnd, name, c, r[1])
	case r[0] == "CHANGED" && len(r) == 3:
		err = fmt.Errorf("%w: it was %q and is %q", ErrChanged, printable.Text(r[1]), printable.Text(r[2]))
	case r[0] == "LATE", r[0] == "BACK":
	default:
		err = r.fault()
	}
	if err != nil {
		return nil, c.wrap(verb, name, err)
	}
	return r, nil
}

// dealError makes an error of the server or the client readable.
func dealError(key string, err error) error {
	remedy := fmt.Sprintf("give the key %s another prefix if it is not snowlease's; if it is, delete it", key)
	if strings.HasSuffix(key, ":segment") {
		remedy += ", and create the name anew above all numbers in use"
	}
	switch m := shown.FindStringSubmatch(err.Error()); {
	case m != nil:
		return fmt.Errorf("%w: %s: %s", ErrDamaged, m[1], remedy)
	case strings.Contains(err.Error(), "WRONGTYPE"):
		return fmt.Errorf("%w: the key is of another type: %s: %w", ErrDamaged, remedy, err)
	case redis.IsReadOnlyError(err) || strings.Contains(err.Error(), "READONLY"):
		return fmt.Errorf("%w: %w", ErrReplica, err)
	}
	return err
}
