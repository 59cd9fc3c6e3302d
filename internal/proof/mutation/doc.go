// Package mutation shows that no safety rule of this module can get lost unseen: it
// knocks them out one at a time, a mutant each, and demands that a test notices.
//
//	SNOWLEASE_TEST_MUTATIONS=1 go test ./internal/proof/mutation
//
// A mutant is built by go test -overlay, so nothing of it is in the product's code.
// Each list of mutants is a file of its own: the lease's rules in memory, the
// generator, the keeper, the Lua of Redis, the SQL, the sequence in Redis, segments and
// what stands before them, the worker ids of a host. A mutant that survives shows a
// test that is missing.
package mutation
