// Package idworker issues unique, time-ordered 64-bit snowflake ids. Every process leases
// a worker id of its own from the database or Redis that its service already runs. Ids
// stay unique through paused processes, clock steps, crashes and failovers.
//
//	fx.New(
//		fx.Supply(idworker.Config{Namespace: "orders"}),
//		fx.Provide(newDB),               // *gorm.DB, redis.UniversalClient or lease.Center
//		fx.Options(idworker.Module),
//		fx.Invoke(func(w *idworker.IdWorker) { ... }),
//	)
//
// Ids are available from OnStart on, not in constructors or fx.Invoke.
//
// Without fx, use Open; in tests and on laptops, use Fixed. To link only one backend, use
// keeper.Open of package lease/keeper. Ids have gaps: do not use them where numbers must be
// consecutive.
//
// A worker id is borrowed when the application starts, renewed on a cron schedule and given
// back when the application stops. If no worker id is free, the start waits for
// Config.Wait and then fails. It never falls back to a default or shared worker id.
//
// While the center (the database or Redis that lends worker ids) is unreachable, ids
// continue to the ceiling of the lease: the latest time that they may carry, TTL after the
// last renewal. Then NextID returns ErrLeaseExpired until the center is back. If a lease is
// lost, the process borrows another worker id.
//
// Package lease describes the protocol, the threats it covers and those it does not.
package idworker
