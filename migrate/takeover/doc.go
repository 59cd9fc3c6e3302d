// Package takeover moves a live stream of ids to another layout, center, database or
// namespace, and checks each step: whether old and new processes may run side by
// side, and whether worker ids of the old side may be lent by the new one.
//
//	old := takeover.Side{Center: mariadb, Request: oldRequest, Layout: five}
//	next := takeover.Side{Center: redis, Request: newRequest, Layout: five}
//	err := takeover.Apart(old, next)                // before the first new process starts
//	report, err := takeover.Take(ctx, old, next)    // after the last old one has stopped
//
// The steps are told in docs/growing.md. A Request comes from idworker.Config.Request.
// What is not checked, since nothing in a center shows it: that nobody starts a process
// of the old configuration after Take where that took over a part of the pool only, or
// where the old center is no lease.Operator or has lost its records since.
package takeover
