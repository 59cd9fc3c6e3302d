// Package fleet tests, with real processes on real servers, that worker ids are
// distinct and ids unique: in a stampede on an empty database, after SIGKILL and
// during rolling restarts.
//
// The package has only tests. The processes run proof/internal/fleet/worker.
package fleet
