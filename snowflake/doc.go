// Package snowflake generates time-ordered 64-bit ids and decodes them. Generating an
// id takes no lock and costs about as much as reading a clock.
//
// A Generator issues ids of one worker id within a time range that nobody else may use.
// Package lease provides such ranges; without it, the caller of Adopt must.
// Applications use the generator through package idworker. Do not configure the same
// worker id in two processes: a Generator cannot detect the conflict.
package snowflake
