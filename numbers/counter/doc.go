// Package counter issues ids that are counted in Redis, so that any number of processes
// can share one worker id. See Counter.
//
//	ids, err := counter.New(client, counter.Config{Namespace: "orders"})
//	err = ids.Start(ctx)
//	defer ids.Close()
//	id, err := ids.NextID()
//
// In an fx application, use it through package idworker, mode redis-sequence. Clients,
// options and errors are those of package redisseq.
package counter
