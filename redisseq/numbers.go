package redisseq

import (
	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/numbers"
)

// ErrChanged is returned for numbers kept only in Redis if another server answers than before,
// which may have lost numbers that were issued: after a restart, a failover, or an event that
// looks like one (see "Loss of data"). Nothing was reserved.
var ErrChanged = redisnumbers.ErrChanged

// Numbers returns a store of small numbers in Redis alone. Like a center of New, the store has
// its own client. It does not connect. The caller closes the store, then client. With
// WithWaitReplicas, numbers are issued only when that many replicas have the reservation.
//
//	store, err := redisseq.Numbers(client)
//	cfg := numbers.SegmentConfig{Namespace: "shop", Name: "orders"}
//	err = numbers.Create(ctx, store, cfg) // once, or with the command: snowlease segment create
//	orders, err := numbers.OpenSegment(ctx, store, cfg)
//
// If you have a SQL database, use Numbers of a dbseq.Center, or Dispenser in front of it, because
// Redis can lose numbers. A hash, snowlease:{ns}:segment:name, holds the greatest number issued.
// An undetected loss would cause duplicate numbers, so the hash is never created again
// automatically:
//
//   - An administrator creates each name. If the hash is missing later, because it was wiped,
//     evicted or deleted, calls return numbers.ErrUnknown. The administrator then creates the name
//     above all numbers in use or reserved ahead.
//   - On a server other than the recorded one, calls return ErrChanged until an administrator
//     advances the name (snowlease segment advance). If Redis loses no acknowledged write,
//     WithDurable turns this check off, and no server is recorded: without it again, the name must
//     be advanced first.
//   - Each request contains the greatest number that the process has received, and the store continues
//     above it.
func Numbers(client redis.UniversalClient, opts ...Option) (numbers.Store, error) {
	s, err := redisnumbers.New(client, option.All[redisconn.Conn](opts))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Dispenser returns a store that hands out numbers in strict order through Redis, from segments
// that it reserves in another store, usually Numbers of a dbseq.Center. It does not connect. The
// caller closes the dispenser, then client and store. The step and cover of cfg apply to all
// segments, whatever their name. WithWaitReplicas has no effect.
//
//	cfg := numbers.SegmentConfig{Namespace: "shop", Name: "orders", Strict: true}
//	dispenser, err := redisseq.Dispenser(client, center.Numbers(), cfg)
//	defer dispenser.Close()
//	orders, err := numbers.OpenSegment(ctx, dispenser, cfg)
//
// A number costs one round trip to Redis. All processes share the current segment and the next
// one, so numbers ascend across all of them. When the next segment becomes current, one process
// fetches another in the background, so at a steady rate no process waits for the store.
//
// The state is one hash, snowlease:{ns}:dispenser:name, without a TTL. It may be deleted at any
// time, which skips its numbers.
//
// Whatever Redis loses, no number is issued twice as long as the store keeps acknowledged
// reservations. The store reserves each number once, and each reservation is installed in Redis
// at most once: only by the caller that the script selected to fetch it, and only in the same
// state of the same server. After Redis was wiped, restarted or replaced by a replica, even
// briefly, the script drops its segments and continues with a new one above them: numbers are
// skipped, and never go back. This needs the right to INFO. If Redis never loses an acknowledged
// write, WithDurable turns the comparison off; a loss of all data is detected even then. There
// are three limits:
//
//   - Old data loaded into a running Redis (RESTORE, DEBUG RELOAD NOSAVE) is not detected by
//     processes that have no numbers yet. Delete the hash afterward.
//   - While two masters accept writes at the same time, each hands out its own segments. Numbers are
//     still unique, but not in order.
//   - If the store is restored from a backup, the hash has numbers that the store may issue again.
//     Stop the processes, delete the hash, and continue the name in the store above all numbers in
//     use (snowlease segment advance).
func Dispenser(client redis.UniversalClient, store numbers.Store, cfg numbers.SegmentConfig, opts ...Option) (numbers.Store, error) {
	d, err := redisnumbers.NewDispenser(client, store, cfg, option.All[redisconn.Conn](opts))
	if err != nil {
		return nil, err
	}
	return d, nil
}
