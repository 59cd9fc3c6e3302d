// Package snowflake makes 64-bit ids that rise with time, without a lock, at about
// the cost of a clock read, and takes them apart again.
//
// A Generator issues ids of one worker id within a range of time that somebody
// else guarantees: package lease, or Adopt called by hand. Applications use it
// through package idworker. Do not use it with a worker id that was set by hand in
// more than one process: nothing here can see the other.
package snowflake
