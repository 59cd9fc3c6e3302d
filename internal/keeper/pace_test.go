package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
)

func longest(_, most time.Duration) time.Duration { return most }

// attempts are when calls came and when they went.
type attempts struct {
	mu         sync.Mutex
	came, went []time.Time
}

func (a *attempts) note(times *[]time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*times = append(*times, time.Now())
}

// ended returns how many calls went.
func (a *attempts) ended() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.went)
}

// first returns when the first call came.
func (a *attempts) first() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.came[0]
}

// took returns how many seconds the first n calls took.
func (a *attempts) took(n int) (d []float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range n {
		d = append(d, a.went[i].Sub(a.came[i]).Seconds())
	}
	return d
}

// pauses returns the seconds between the calls.
func (a *attempts) pauses() (d []float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range len(a.came) - 1 {
		d = append(d, a.came[i+1].Sub(a.went[i]).Seconds())
	}
	return d
}

// failing makes every call of a verb fail, immediately or when its time is up.
func (r *rig) failing(verb string, hang bool, err error) *attempts {
	a := &attempts{}
	r.center.Intercept(func(ctx context.Context, v string, after bool) error {
		if v != verb || after {
			return nil
		}
		a.note(&a.came)
		if hang {
			<-ctx.Done()
		}
		a.note(&a.went)
		return err
	})
	return a
}

var errRefused = errors.New("connection refused")

// Each failure of a row doubles the pause until a maximum; a success ends the row.
func TestPausesGrow(t *testing.T) {
	for _, verb := range []string{"renew", "acquire"} {
		named(t, verb, func(t *testing.T, r *rig) {
			r.member(func(c *keeper.Config) { c.Jitter = longest })
			r.start()
			for range 2 {
				if verb == "acquire" {
					r.expire(r.keeper.Status().Grant.Worker)
				}
				calls := r.failing(verb, false, errRefused)
				time.Sleep(30 * time.Second)
				pauses := calls.pauses()
				require.GreaterOrEqual(t, len(pauses), 4)
				require.Equal(t, []float64{1, 2, 2.5, 2.5}, pauses[:4])
				r.center.Intercept(nil)
				time.Sleep(3 * time.Second) // one success
				require.NoError(t, r.keeper.Status().Err)
			}
		})
	}
}

// A call under way is not given up while there is time: the store would carry it out for
// nothing. The time that it gets grows, and one success does not take that back.
func TestPatienceGrows(t *testing.T) {
	for _, verb := range []string{"renew", "acquire"} {
		named(t, verb, func(t *testing.T, r *rig) {
			r.member(func(c *keeper.Config) { c.Jitter = longest })
			r.start()
			hang := func(n int) []float64 {
				if verb == "acquire" {
					r.expire(r.keeper.Status().Grant.Worker)
				}
				calls := r.failing(verb, true, context.DeadlineExceeded)
				for calls.ended() < n {
					time.Sleep(100 * time.Millisecond)
				}
				r.center.Intercept(nil)
				if verb == "renew" { // so that it is not lost
					r.extend()
				}
				for r.keeper.Status().Err != nil {
					time.Sleep(100 * time.Millisecond)
				}
				return calls.took(n)
			}
			require.Equal(t, []float64{2, 3, 4.5, 6.75, 10, 10}, hang(6))
			require.InDelta(t, 10*2./3, hang(1)[0], 1e-6)
			time.Sleep(3 * time.Minute)
			require.Equal(t, []float64{2}, hang(1))
		})
	}
}

// While the lease runs, no renewal gets more than a third of TTL. Afterwards a store that
// needs more, to open a connection for each process, is not asked in vain for ever.
func TestPatienceOfAShortTTL(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.member(func(c *keeper.Config) { c.Request.TTL = 5 * time.Second })
		r.start()
		calls := r.failing("renew", true, context.DeadlineExceeded)
		time.Sleep(time.Minute)
		require.Greater(t, calls.ended(), 5)
		took := calls.took(calls.ended())
		for _, d := range took[:2] {
			require.InDelta(t, 5./3, d, 1e-6)
		}
		require.InDeltaSlice(t, []float64{4.5, 6.75, 10, 10}, took[2:6], 1e-6)
	})
}

// Processes that fail in the same instant do not try again in the same instant.
func TestPausesDiffer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		first := map[float64]bool{}
		for range 20 {
			calls := r.failing("acquire", false, errRefused)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			require.ErrorIs(t, r.keeper.Start(ctx), errRefused)
			cancel()
			pause := calls.pauses()[0]
			require.GreaterOrEqual(t, pause, 0.5)
			require.LessOrEqual(t, pause, 1.)
			first[pause] = true
		}
		require.Greater(t, len(first), 15)
	})
}

// A center that returns gets one call from each keeper, or two if the lease has expired, and
// not all together, although all calls failed in the same instant.
func TestReturnIsNoStampede(t *testing.T) {
	for outage, calls := range map[time.Duration]int{25 * time.Second: 1, time.Minute: 2} {
		bubble(t, func(t *testing.T, r *rig) {
			began, many := time.Now(), int(layout.Workers())
			for range many {
				r.member(nil)
				r.start()
				defer func(k *keeper.Keeper) { _ = k.Stop(context.Background()) }(r.keeper)
			}
			var (
				mu    sync.Mutex
				asked []time.Duration // since began
			)
			r.center.Intercept(func(_ context.Context, verb string, after bool) error {
				if verb == "release" || after {
					return nil
				}
				mu.Lock()
				asked = append(asked, time.Since(began))
				mu.Unlock()
				// No call has begun before 9 s or ends by itself before 11 s.
				time.Sleep(time.Until(began.Add(10500 * time.Millisecond)))
				if time.Since(began) < outage {
					return errRefused
				}
				return nil
			})
			time.Sleep(outage + 3*time.Second)
			mu.Lock()
			defer mu.Unlock()
			back := slices.IndexFunc(asked, func(d time.Duration) bool { return d >= outage })
			require.LessOrEqual(t, back, 40*many, "while it was away")
			asked = asked[back:]
			require.Len(t, asked, calls*many)
			for i := range len(asked) - calls*many/2 {
				require.Greater(t, asked[i+calls*many/2]-asked[i], time.Second/4, "half of all in a quarter of a second")
			}
		})
	}
}

// A start uses its time to the end.
func TestStartTriesUntilItsTimeIsUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for wait := 2 * time.Second; wait < 20*time.Second; wait += 300 * time.Millisecond {
			r.member(func(c *keeper.Config) { c.Jitter, c.Wait = longest, wait })
			up := r.down()
			time.AfterFunc(wait-1100*time.Millisecond, up)
			require.NoError(t, r.keeper.Start(t.Context()), "%v", wait)
			require.NoError(t, r.keeper.Stop(t.Context()))
		}
	})
}

// A stop tries again ever less often, and not at all what cannot get better.
func TestReleasesBackOff(t *testing.T) {
	for err, want := range map[error][]float64{
		errRefused: {0.1, 0.2, 0.4, 0.8, 1, 1, 1},
		&lease.MismatchError{Namespace: "orders"}: nil,
		fmt.Errorf("closed: %w", lease.ErrSetup):  nil,
	} {
		named(t, err.Error(), func(t *testing.T, r *rig) {
			r.member(func(c *keeper.Config) { c.Jitter = longest })
			r.start()
			calls := r.failing("release", false, err)
			require.ErrorIs(t, r.keeper.Stop(t.Context()), err)
			require.Equal(t, want, calls.pauses())
		})
	}
}

// Ids resume within three seconds of the center's return, or five if it may have forgotten
// grants. A call under way whose connection is dead adds at most a third of TTL.
func TestIDsResumeSoon(t *testing.T) {
	for outage := 40 * time.Second; outage < 60*time.Second; outage += 700 * time.Millisecond {
		for _, tt := range []struct {
			hang, wiped bool
			within      time.Duration
		}{
			{false, false, 3 * time.Second},
			{true, false, 13 * time.Second},
			{false, true, 5 * time.Second},
			{true, true, 15 * time.Second},
		} {
			bubble(t, func(t *testing.T, r *rig) {
				r.start()
				r.failing("renew", tt.hang, context.DeadlineExceeded)
				time.Sleep(outage)
				require.ErrorIs(t, r.gen.Err(), generator.ErrLeaseExpired)
				if tt.wiped {
					r.center.Wipe()
				}
				r.center.Intercept(nil)
				time.Sleep(tt.within)
				r.next()
			})
		}
	}
}
