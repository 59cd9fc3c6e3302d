// Package idworker gives every process of a service its own snowflake worker id, on
// lease from the database or Redis that the service already runs, and with it
// 64-bit ids that rise with time and stay unique through paused processes, clock
// steps, crashes and failovers.
//
//	fx.New(
//		fx.Supply(idworker.Config{Namespace: "orders"}),
//		fx.Provide(newDB),               // *gorm.DB, or a redis.UniversalClient
//		fx.Options(idworker.Module),
//		fx.Invoke(func(w *idworker.IdWorker) { ... }),
//	)
//
// Ids are available from OnStart on, not in constructors or fx.Invoke.
//
// Without fx use Open; in tests and on laptops Fixed. To link one backend only, use
// keeper.New with redisseq.New or dbseq.New. Do not use it where numbers must
// have no gaps.
//
// A worker id is borrowed when the application starts, renewed by a cron schedule
// and given back when it stops. The start can wait some seconds for a free one, or
// fail: it never takes a default, and never shares. While the center is away ids go
// on to the ceiling of the lease, up to TTL from its last renewal; then NextID
// returns ErrLeaseExpired until the center is back. A lease that was lost is
// replaced by another in the same process. Package lease has the protocol and its
// threats, and says what is not covered.
package idworker
