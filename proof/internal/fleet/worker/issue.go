package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/proof/internal/fleet"
)

type result struct {
	n   int64
	err error
}

// batch is how many ids are written at once, which is also how many a kill can hide.
const batch = 256

// issue issues ids at full speed, alternately one by one and in batches, and writes
// them to the file. It returns when the worker has stopped or the limit is reached.
func issue(w *idworker.IdWorker, order fleet.Order) (r result) {
	file, err := os.OpenFile(order.IDs, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return result{err: err}
	}
	defer func() { r.err = errors.Join(r.err, file.Close()) }()
	ids, raw := make([]int64, batch), make([]byte, 0, 8*batch)
	for round := 0; order.Limit == 0 || r.n < order.Limit; round++ {
		var n int
		if round%2 == 0 {
			n, err = each(w, ids)
		} else {
			n, err = all(w, ids)
		}
		raw = raw[:0]
		for _, id := range ids[:n] {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(id))
		}
		if _, err := file.Write(raw); err != nil {
			return result{r.n, err}
		}
		r.n += int64(n)
		switch {
		case errors.Is(err, snowlease.ErrStopped):
			return r
		case err != nil:
			return result{r.n, fmt.Errorf("issue: %w", err)}
		}
	}
	return r
}

// each fetches ids one by one and returns how many it got.
func each(w *idworker.IdWorker, ids []int64) (n int, err error) {
	for n = range ids {
		ids[n], err = w.NextID()
		if errors.Is(err, snowlease.ErrExhausted) || errors.Is(err, snowlease.ErrLeaseExpired) {
			ids[n], err = w.NextIDWait(context.Background()) // ends when the worker stops
		}
		if err != nil {
			return n, err
		}
	}
	return len(ids), nil
}

// all fills ids with as few reservations as possible.
func all(w *idworker.IdWorker, ids []int64) (int, error) {
	if err := w.NextIDs(context.Background(), ids); err != nil {
		return 0, err
	}
	return len(ids), nil
}
