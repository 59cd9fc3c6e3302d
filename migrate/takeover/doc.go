// Package takeover moves a live stream of ids to another layout, center, database or
// namespace. It checks whether old and new processes may run side by side, and hands the
// worker ids of the old side over to the new one.
//
//	old := takeover.Side{Center: mariadb, Request: oldRequest, Layout: five}
//	next := takeover.Side{Center: redis, Request: newRequest, Layout: five}
//	err := takeover.Apart(old, next)                // before the first new process starts
//	report, err := takeover.Take(ctx, old, next)    // after the last old one has stopped
//
// docs/upgrade.md describes the steps. A Request comes from idworker.Config.Request.
//
// Do not start a process with the old configuration after Take. The old center refuses
// it, unless
//
//   - Take took over only a part of the old pool,
//   - the old center has no lease.Operator, or
//   - the old center has lost its records since.
//
// In the first two cases the old center lends none of these worker ids until
// Report.Sealed.
package takeover
