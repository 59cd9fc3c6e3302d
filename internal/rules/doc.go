// Package rules decides what a center answers: each verb of the lease protocol as
// a pure function from what is on record, the center's clock and the store's
// incarnation to an answer and what is on record then. There is no clock, no lock
// and no I/O in it, so that a test, a simulation and a model checker can put any
// history before it. Package lease says what the rules are for.
//
// All times are Unix milliseconds of the center's clock.
package rules
