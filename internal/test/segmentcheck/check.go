// Package segmentcheck checks whether a numbers.Store meets its contract, for the
// tests of stores.
package segmentcheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

// Run returns the first violation of the contract, or nil. It uses names that begin
// with prefix. If requests may not create names, prepare creates a name with its first
// number; a nil prepare leaves that to the requests.
func Run(ctx context.Context, store numbers.Store, prefix string, prepare func(name string, start int64) error) error {
	c := check{store, prefix, prepare}
	for _, part := range []struct {
		of    string
		check func(context.Context) error
	}{
		{"unknown names", c.unknown},
		{"first numbers", c.first},
		{"numbers known to be given", c.above},
		{"the end", c.end},
		{"many at once", c.many},
		{"ended contexts", c.ended},
	} {
		if err := part.check(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.of, err)
		}
	}
	return nil
}

type check struct {
	store   numbers.Store
	prefix  string
	prepare func(name string, start int64) error
}

// request returns a request for n numbers of a name that starts at start.
func (c check) request(name string, n, start int64) (numberstore.Request, error) {
	r := numberstore.Request{Name: c.prefix + name, N: n, Start: start, Max: math.MaxInt64, Create: c.prepare == nil}
	if c.prepare != nil {
		return r, c.prepare(r.Name, start)
	}
	return r, nil
}

func (c check) wants(ctx context.Context, r numberstore.Request, want error) error {
	got, err := c.store.Reserve(ctx, r)
	if !errors.Is(err, want) || got != (numberstore.Range{}) {
		return fmt.Errorf("%+v: got %v and the error %w, want %w", r, got, err, want)
	}
	return nil
}

// take reserves n numbers, in as many ranges as the store chooses.
func (c check) take(ctx context.Context, r numberstore.Request, n int64) (all []int64, err error) {
	for int64(len(all)) < n {
		r.N = n - int64(len(all))
		got, err := c.store.Reserve(ctx, r)
		if err != nil {
			return nil, err
		}
		if err := within(r, got); err != nil {
			return nil, err
		}
		for k := range got.Len() {
			all = append(all, got.First+k)
		}
	}
	if !slices.IsSorted(all) {
		return nil, fmt.Errorf("%v do not rise", all)
	}
	return all, nil
}

// within returns an error unless r may be answered with got. Lengths are not looked at
// before the order is: they wrap around as the numbers do.
func within(r numberstore.Request, got numberstore.Range) error {
	if got.First <= r.Above || got.Last < got.First || got.Last > r.Max || got.Len() > r.N {
		return fmt.Errorf("%+v: got %v", r, got)
	}
	return nil
}

// Beside returns the first violation of what Request.Beside asks for.
func Beside(ctx context.Context, store numbers.Store) error {
	other := numberstore.Request{Name: "shop/other", N: 5, Start: 46, Max: math.MaxInt64, Create: true}
	if _, err := store.Reserve(ctx, other); err != nil {
		return err
	}
	r := numberstore.Request{Name: "shop/beside", N: 2, Start: 1, Max: 4, Create: true, Beside: other.Name}
	for _, want := range []numberstore.Range{{First: 1, Last: 2}, {First: 3, Last: 4}} {
		for _, r.Given = range []numberstore.Range{{First: 40, Last: 49}, {First: 51, Last: 60}} {
			if err := (check{store: store}).wants(ctx, r, numbers.ErrUnknown); err != nil {
				return err
			}
		}
		r.Given = numberstore.Range{First: 50, Last: 51}
		if got, err := store.Reserve(ctx, r); err != nil || got != want {
			return fmt.Errorf("%+v: got %v, want %v: %w", r, got, want, err)
		}
	}
	if err := (check{store: store}).wants(ctx, r, numbers.ErrEnd); err != nil {
		return err
	}
	r.Beside, r.Max = "shop/nobody", 100
	return (check{store: store}).wants(ctx, r, numbers.ErrUnknown)
}

// Clock returns the first violation of what Request.NotBefore and NotAfter ask for.
func Clock(ctx context.Context, store numbers.Store) error {
	now := time.Now().UnixMilli() // also the store's, but for some seconds
	const minute = 60_000
	r := numberstore.Request{Name: "shop/clocked", N: 1, Start: 1, Max: 100, Create: true}
	for range 2 { // the first request creates the name
		for _, bounds := range [][2]int64{{now + 10*minute, now + 20*minute}, {1, now - 10*minute}, {now - 20*minute, now - 10*minute}} {
			r.NotBefore, r.NotAfter = bounds[0], bounds[1]
			if err := (check{store: store}).wants(ctx, r, numbers.ErrClock); err != nil {
				return err
			}
		}
		r.NotBefore, r.NotAfter = now-10*minute, now+10*minute
		if _, err := store.Reserve(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (c check) unknown(ctx context.Context) error {
	return c.wants(ctx, numberstore.Request{Name: c.prefix + "nobody", N: 1, Start: 1, Max: 10}, numbers.ErrUnknown)
}

func (c check) first(ctx context.Context) error {
	for name, start := range map[string]int64{"one": 1, "thousand": 1000, "Two-._": 2} {
		r, err := c.request(name, 1, start)
		if err != nil {
			return err
		}
		got, err := c.take(ctx, r, 25)
		if err != nil {
			return err
		}
		if got[0] != start {
			return fmt.Errorf("%q: the first number is %d, want %d", name, got[0], start)
		}
		r.Start, r.Create = 7, false // ignored: the name exists
		more, err := c.take(ctx, r, 5)
		if err != nil {
			return err
		}
		if more[0] <= got[24] {
			return fmt.Errorf("%q: %d after %d", name, more[0], got[24])
		}
	}
	return nil
}

func (c check) above(ctx context.Context) error {
	r, err := c.request("above", 3, 1)
	if err != nil {
		return err
	}
	for _, above := range []int64{0, 1_000_000, 5, 1 << 60} {
		r.Above = above
		_, err := c.take(ctx, r, 3)
		if above == 1<<60 && errors.Is(err, lease.ErrDamaged) { // nobody can have been given that many
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.Above = 0
	got, err := c.take(ctx, r, 1)
	if err == nil && got[0] <= 1<<60 {
		err = fmt.Errorf("%d after numbers above 1<<60", got[0])
	}
	return err
}

// end checks that a store gives all numbers up to the last one, even the last possible
// one, and none after it.
func (c check) end(ctx context.Context) error {
	for name, last := range map[string]int64{
		"small": 12, "billion": 1_000_000_003, "double": 1 << 53, "quintillion": 1_000_000_000_000_000_002, "largest": math.MaxInt64,
	} {
		r, err := c.request(name, 1, last-5)
		if err != nil {
			return err
		}
		r.Max = last
		got, err := c.take(ctx, r, 4)
		if err != nil {
			return err
		}
		r.N = 1000
		for got[len(got)-1] != last {
			rest, err := c.store.Reserve(ctx, r)
			if err != nil {
				return err
			}
			if err := within(r, rest); err != nil || rest.First <= got[len(got)-1] {
				return fmt.Errorf("up to %d: got %v after %v: %w", last, rest, got, err)
			}
			got = append(got, rest.Last)
		}
		if err := c.wants(ctx, r, numbers.ErrEnd); err != nil {
			return err
		}
		if last == math.MaxInt64 {
			continue
		}
		former := r
		r.Max += 100 // reaching the end does not spoil the name
		for from := last; from < r.Max; from += 20 {
			if err := c.wants(ctx, former, numbers.ErrEnd); err != nil { // which takes none of those above
				return err
			}
			if got, err := c.take(ctx, r, 20); err != nil || got[19] != from+20 {
				return fmt.Errorf("after the maximum was raised by 100: %v, want up to %d: %w", got, from+20, err)
			}
		}
		r.Above = r.Max
		if err := c.wants(ctx, r, numbers.ErrEnd); err != nil {
			return err
		}
	}
	return nil
}

// many has several callers create and use a name together.
func (c check) many(ctx context.Context) error {
	const callers, each = 8, 30
	r, err := c.request("many", 1, 100)
	if err != nil {
		return err
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		all  []int64
		errs []error
	)
	for range callers {
		wg.Go(func() {
			r, before := r, int64(0)
			for k := range int64(each) {
				got, err := c.take(ctx, r, 1+k%3)
				mu.Lock()
				if err == nil && got[0] <= before {
					err = fmt.Errorf("%d after %d", got[0], before)
				}
				if err != nil {
					errs = append(errs, err)
					mu.Unlock()
					return
				}
				before = got[len(got)-1]
				all = append(all, got...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) || n != callers*each*2 || all[0] != 100 {
		return fmt.Errorf("%d numbers from %d on, %d of them different", len(all), all[0], n)
	}
	return nil
}

func (c check) ended(ctx context.Context) error {
	r, err := c.request("ended", 1, 1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return c.wants(ctx, r, context.Canceled)
}

// Create returns a Creator's first violation of its contract, or nil.
func Create(ctx context.Context, c numberstore.Creator, name string) error {
	if err := c.Create(ctx, name, 5); err != nil {
		return err
	}
	if err := c.Create(ctx, name, 1); !errors.Is(err, numbers.ErrExists) {
		return fmt.Errorf("create again: %w", err)
	}
	for _, name := range []string{"", "shop/a b", "shop/" + strings.Repeat("a", 125)} {
		if err := c.Create(ctx, name, 1); !errors.Is(err, numberstore.ErrRequest) {
			return fmt.Errorf("create %q: %w", name, err)
		}
	}
	return nil
}
