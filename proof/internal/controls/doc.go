// Package controls implements widely used schemes for assigning worker ids, each as a
// lease.Center. Tests that look for duplicate ids run them to show that they find
// duplicates: a test that no scheme fails proves nothing.
//
// The schemes are written from their descriptions. Where two readings are possible, the
// one that makes fewer duplicates is implemented. Two things are kinder than in the
// original systems:
//
//   - Ids come from a generator.Generator, which never steps back within a process.
//   - A fixed time of the original (a key that expires after 15 s, a guard of 5 min)
//     becomes a multiple of the request's TTL, so that all schemes are measured alike.
//
// Their grants carry the wall-clock time of the process, that time as the floor and a
// ceiling years away, because none of the schemes has floors or ceilings.
//
// The package is for tests only; no product imports it.
package controls
