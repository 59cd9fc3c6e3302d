// Package generator issues time-ordered 64-bit ids. An id takes no lock and costs about as much
// as reading a clock, and less at high rates.
//
// A Generator issues ids of one worker id within a range of time. No other process may use that
// worker id in that range. Package lease ensures that; without package lease, the caller of Adopt
// must. A Generator cannot detect a conflict. Applications use the generator through package
// snowlease.
package generator
