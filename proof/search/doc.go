// Package search plays random histories against package rules and looks for a time of a worker id
// that two holders may use. Package model explores all histories of a few milliseconds; this search
// reaches those of fifty steps, in which pins rise and fall while records are lost.
//
// A seed yields members that differ in ttl, max_ttl, skew and lead, and each step: somebody borrows,
// renews or gives back, by calls that are late, repeated or lost; time passes; the clock steps back,
// to less than the least skew below its latest time; any of the records are lost, unless nothing is
// left that shows how long grants last; another server becomes the primary, with whatever one had: a
// replica that lags by less than a grant by its pin lasts, or a primary that is back.
//
//	go -C proof test ./search -args -count 1000000
//
// The mutants "limits of the rules, by search" of package mutation are what it has to find.
package search
