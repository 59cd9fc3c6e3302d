// Package controls lends worker ids by the schemes that people use today, each as a
// lease.Center, so that whatever looks for duplicate ids can show that it finds
// them: a test that no scheme fails proves nothing.
//
// They are written from the descriptions of those schemes, and each is as good as
// its description allows: where two readings are possible, it is the one that makes
// fewer duplicates. Two things are kinder than in the systems they are known from.
// Ids come from a snowflake.Generator, which never steps back within a process; and
// where a system fixes a time (a key that expires after 15 s, a guard of 5 min), it is
// taken from the request's TTL, so that all of them are held to one measure.
//
// A grant of theirs tells the time of the process's own wall clock, a floor of that
// moment and a ceiling that is years away: none of them knows floors and ceilings.
//
// They are for tests. No product links this package.
package controls
