// Package moving shows, with real processes on real servers, that a service moves to
// more worker ids, another center or another database while it issues ids, by the
// steps of docs/growing.md, and that each step refuses when it comes too early.
//
// It is its tests. The processes are those of internal/proof/fleet/worker.
package moving
