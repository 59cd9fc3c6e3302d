// Package fleet tests, with real processes on real servers, that worker ids are
// distinct and ids unique: in a stampede on an empty database, after SIGKILL, during
// rolling restarts, and while a service moves to another namespace.
//
// The package has only tests. The processes run proof/internal/fleet/worker.
package fleet
