package segment

import "errors"

var (
	// ErrUnknown is returned where the store has no such name and does not create it.
	ErrUnknown = errors.New("segment: the name is not in the store")
	// ErrExists is returned where a name that is to be created is there.
	ErrExists = errors.New("segment: the name is in the store already")
	// ErrEnd is returned when no number is left up to Config.Max.
	ErrEnd = errors.New("segment: no number is left up to the maximum")
	// ErrUnavailable is returned when what was prefetched is used up and the store gives
	// nothing: it is down, or slower than the caller waits. It wraps the store's error.
	ErrUnavailable = errors.New("segment: no number at hand")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("segment: closed")
	// ErrRequest is returned for a request that no store can serve, such as one for
	// no number at all. Nothing was reserved.
	ErrRequest = errors.New("segment: the request is not valid")
	// ErrStore is returned when a store answers what it must not: numbers that were
	// given before, or others than asked for. None of them is issued.
	ErrStore = errors.New("segment: the store's answer is wrong")
)

// final: trying again does not help before somebody has changed something.
func final(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrEnd) || errors.Is(err, ErrClosed) || errors.Is(err, ErrRequest)
}
