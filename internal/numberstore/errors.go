package numberstore

import "errors"

// Errors of stores. Package numbers documents what they mean to a program.
var (
	ErrUnknown     = errors.New("segment: the name is not in the store")
	ErrExists      = errors.New("segment: the name already exists in the store")
	ErrEnd         = errors.New("segment: no number is left up to the maximum")
	ErrClock       = errors.New("segment: the clocks of this process and of the store differ")
	ErrUnavailable = errors.New("segment: no number available")
	ErrRequest     = errors.New("segment: the request is not valid")
	ErrTransaction = errors.New("series: wrong use of transactions")
)
