// Package rules implements the decisions of a center. Each verb of the lease protocol
// is a pure function: from the records, the center's clock and the incarnation of the
// store, it computes the answer and the new records. It uses no clock, lock or I/O, so
// tests, simulations and a model checker can present any history to it. Package lease
// explains the rules.
//
// All times are Unix milliseconds of the center's clock.
package rules
