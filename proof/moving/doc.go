// Package moving tests, with real processes and real servers, that a service can move to
// more worker ids, another center or another database while it issues ids. It follows
// the steps of docs/upgrade.md and checks that each step refuses to run too early.
//
// The package has only tests. The processes run proof/internal/fleet/worker.
package moving
