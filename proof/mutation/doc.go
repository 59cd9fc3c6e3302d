// Package mutation checks that every safety rule of this module is tested. It removes or
// breaks the rules one at a time, a mutant each, and requires that a test fails.
//
//	go -C proof test ./mutation
//
// The mutants of a list are built into one binary with go test -overlay, so the product's
// code contains nothing of them.
// Each list of mutants has a file of its own. A mutant that survives shows that a test is
// missing.
package mutation
