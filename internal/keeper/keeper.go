// Package keeper keeps a generator.Generator supplied with a worker id: it borrows one
// from a lease.Center, renews it and releases it. Package snowlease configures it.
package keeper

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Schedule determines when to renew. Next returns the next time after t, or the zero time for
// never. Schedules of robfig/cron implement it.
type Schedule interface {
	Next(t time.Time) time.Time
}

// Config configures a Keeper. Center, Generator and Request are required. For all other fields,
// zero means the default.
type Config struct {
	// Center leases the worker ids. The caller closes it after Stop.
	Center lease.Center
	// Generator issues the ids. The Keeper owns it: do not call its Adopt, Extend, Drop or
	// Stop, and give it to one Keeper only.
	Generator *generator.Generator
	// Request is the request to borrow with, for the layout of Generator. The Keeper sets Owner,
	// CallerTime and MaxLead.
	Request lease.Request
	// Schedule adds renewals to the ones that the lease needs, one every third of TTL. Each time of
	// Schedule causes one renewal, a constant time earlier. That time is what Jitter, called once,
	// subtracts from a third of TTL. Default: every 10 s.
	Schedule Schedule
	// Wait bounds how long Start waits for a free worker id, for a center that is down,
	// or for a quarantine. The context of Start bounds it too. Default: 10s.
	Wait time.Duration
	// ExactTimes delays borrowing if the center may have lost grants, until its clock has passed all
	// of them. That takes up to MaxTTL + Skew, without ids once the current range is used up. If
	// false, the Keeper borrows a range above the lost grants after Skew and a moment. Ids then
	// carry times up to MaxTTL ahead of the clock until it has caught up.
	ExactTimes bool
	// OnLost is called after each loss of a lease, in the goroutine of the Keeper. It must not
	// block, and must not call the Keeper.
	OnLost func(error)
	// Jitter returns a delay of least to most, so that the replicas of a service do not act
	// together. Tests and simulations set it. Default: a random delay.
	Jitter func(least, most time.Duration) time.Duration
	// Logger receives one line for each change of state. Its handler must not block, and must not
	// call the Keeper. Default: nothing is logged.
	Logger *slog.Logger
}

// DefaultWait is how long Start waits by default.
const DefaultWait = 10 * time.Second

// State is the state of a Keeper.
type State string

// The states of a Keeper.
const (
	Idle        State = "idle"        // not started
	Borrowing   State = "borrowing"   // requests a worker id, at the start or after a loss
	Quarantined State = "quarantined" // requests one, but the center may have lost grants and grants none yet
	Holding     State = "holding"     // has a worker id; without ids if its lease has expired: see Generator.Err
	Stopped     State = "stopped"     // released the worker id
)

// Status describes a Keeper at one moment.
type Status struct {
	State   State
	Grant   lease.Grant // the last one, or zero; after a loss its range may still be in use
	Renewed time.Time   // when the center last granted it, by the local clock
	// Losses counts lost leases, and Renewals successful renewals. Failures counts failed
	// attempts to borrow or renew, except losses and quarantines.
	Losses, Renewals, Failures int64
	Err                        error // of the last attempt, or nil after a success
	// FailingSince is when the first attempt after the last success began, if it failed,
	// by the local clock. It is zero while Err is nil.
	FailingSince time.Time
	Reason       string // of the last quarantine, or of the last loss that a renewal detected
}

// A Keeper borrows a worker id for a generator, renews it and releases it. It runs one
// goroutine between Start and Stop, after which it may start again. All methods are safe for
// concurrent use. The zero Keeper is not usable: call New.
//
// The loss of a lease does not stop ids immediately: the generator may use up its range
// while the Keeper borrows another worker id.
type Keeper struct {
	cfg Config

	// life has an element while Start, Reset or Stop runs, so that only one of them runs at a time.
	// It is not a mutex because testing/synctest does not detect goroutines that wait for one.
	life chan struct{}

	mu        sync.Mutex
	status    Status
	at        time.Duration      // the generator's clock at status.Grant.Now
	cancel    context.CancelFunc // ends the loop
	ended     chan struct{}      // closed when the loop has ended
	stops     int                // calls of Stop
	resets    int                // calls of Reset
	interrupt func(by string)    // ends a Start or Reset in progress
	hurry     int                // calls of Reset that are waiting and whose context has ended

	early  time.Duration // how long before a time of Schedule to renew
	outage outage

	// The fields below are used only by the goroutine that borrows: the caller of Start or Reset,
	// then the loop, then the caller of Stop.
	owner  lease.Owner // of the borrow under way; zero if the next has yet to begin
	unsure bool        // the last answer to the borrow leaves open whether the owner was granted anything
	asked  int         // resets before the owner of the borrow or grant was created
	grant  lease.Grant // zero if there is none to renew or release
	lent   generator.Range
	pace   pace
	began  time.Time // the beginning of the attempt
	took   time.Duration
}

// New returns a Keeper that has not started.
func New(cfg Config) *Keeper {
	cfg.Request.MaxLead = 0
	if !cfg.ExactTimes {
		cfg.Request.MaxLead = ahead(cfg.Request, cfg.Generator.Layout())
	}
	cfg.Wait, cfg.Logger = cmp.Or(cfg.Wait, DefaultWait), cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Jitter == nil {
		cfg.Jitter = between
	}
	k := &Keeper{cfg: cfg, status: Status{State: Idle}, life: make(chan struct{}, 1)}
	if cfg.Schedule != nil {
		third := cfg.Request.TTL / 3
		k.early = third - k.jitter(mostly(third))
	}
	return k
}

// ahead returns Request.MaxLead. The shortest range borrowed ahead of the clock still
// lasts for a quarter of a second, or for a whole tick of the layout.
func ahead(req lease.Request, l snowflake.Layout) time.Duration {
	least := max(250*time.Millisecond, 3*l.TimeUnit)
	return (req.MaxTTL - min(least, req.MaxTTL/2)).Truncate(time.Millisecond)
}

// Status returns the status of the Keeper.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status
}

// Now returns the center's time, which decides when ids stop: the time of the last answer plus
// the time that has passed since on the generator's clock. It is zero without a Grant.
func (k *Keeper) Now() time.Time {
	elapsed := k.cfg.Generator.Elapsed()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.status.Grant == (lease.Grant{}) {
		return time.Time{}
	}
	return time.UnixMilli(k.status.Grant.Now).Add(max(0, elapsed-k.at))
}

var errReset = errors.New("lease: the keeper was reset during the call")

const (
	releaseTimeout = 5 * time.Second // many processes may stop together
	answerTime     = 2 * time.Second // for the answer to an abandoned borrow
	forsakeTime    = 3 * time.Second // to request its grant again and release it
	maxPause       = 5 * time.Second
)
