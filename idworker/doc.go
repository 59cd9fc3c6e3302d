// Package idworker adapts package snowlease to fx and to configuration files. It chooses the
// center, the database or Redis that leases the worker id, according to Config.Mode and the
// clients that the application has. Module provides an *IdWorker, which is the worker of package
// snowlease:
//
//	fx.New(
//		fx.Supply(idworker.Config{Namespace: "orders"}),
//		fx.Provide(newDB),               // *gorm.DB, redis.UniversalClient or lease.Center
//		fx.Options(idworker.Module),
//		fx.Invoke(func(w *idworker.IdWorker) { ... }),
//	)
//
// Ids are available from OnStart onward, not in constructors or fx.Invoke.
//
// Open does the same without fx. A program that has a center and needs no configuration file uses
// snowlease.Open, which links that center only. Tests use snowlease.Fixed.
//
// A worker borrows a worker id when the application starts, renews it on a cron schedule and
// releases it when the application stops. If no worker id is free, the start waits for
// Config.Wait and then fails. It never falls back to a default or shared worker id.
//
// While the center is unreachable, ids continue to the ceiling of the lease: the latest time that
// they may carry, TTL after the last renewal. Then NextID returns ErrLeaseExpired until the
// center is back. If a lease is lost, the process borrows another worker id.
//
// Package lease describes the protocol, the threats it covers and those it does not.
package idworker
