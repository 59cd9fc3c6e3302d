// Package model checks that no order of events lets two holders of a worker id own the
// same millisecond. Its tests explore every state that package rules can reach, breadth
// first, within bounds that they print.
//
// # What is explored
//
// The verbs are those of package rules, which the in-memory center runs too; there is
// no second copy. A run spans some milliseconds, and a TTL is 1 to 3 of them. From each
// state, any of these events can come next:
//
//   - An acquire, a renewal or a release reaches the center. A message that was sent once
//     may arrive at any later time, any number of times, even after its holder has
//     stopped or has a later grant. Renewals of a holder's last two grants are always
//     under way.
//   - The holder receives the reply, or the reply is lost. In one configuration the reply
//     may also be delayed and installed late, against the grant it renewed. The other
//     configurations need no late replies: a holder that received its reply early can
//     still do all that a holder without a reply can, since its earlier messages are
//     still under way.
//   - A holder learns that its grant is lost, or stops and gives it back. Its last use
//     lies at an edge of its range or far outside.
//   - The center's clock advances or steps back. In some configurations the center has none,
//     and each holder's clock differs from the others'.
//   - The store is wiped; loses a lease, a mark, a slot, all owners or the namespace
//     record; or fails over to a replica that was in sync at any earlier time.
//
// A holder may use everything it was ever granted, at any later time, whether or not it
// received the grant. So pauses, crashes and host clocks need no events of their own.
// Only a holder that stops for good gives up what lies above its last use. Its owner asks for
// nothing again, since its release may arrive late: TestBroken shows what happens otherwise.
//
// # What is checked
//
// After each step:
//
//   - The ranges that the holders of one worker id may use are disjoint.
//   - A mark falls only when its owner releases it, and never below the last use.
//   - Without a loss, the mark covers everything that was granted.
//   - Tokens rise.
//   - A new grant lies above the mark and the quarantine, and ends within the TTL.
//   - A renewal keeps worker and floor, and never lowers the ceiling.
//   - The first verb after a loss, whichever it is, begins a quarantine.
//
// TestBroken breaks one rule at a time, from outside package rules, and prints the history
// that then leads to a duplicate. It also shows the failures that the protocol does not cover.
//
// # What is not checked
//
//   - Two primaries at once.
//   - The isolation of SQL and the atomicity of scripts; the contract in package
//     leasetest covers these.
//   - Real clocks.
//   - More than four borrows, two workers or two losses.
//   - Liveness.
//
// Within these bounds the search is exhaustive; it is no proof for all sizes.
//
// # How to run it
//
//	go -C proof test -v ./model                                    a minute of one core
//	SNOWLEASE_MODEL=full go -C proof test -v -timeout 2h ./model   to the end of most, 4 GB
package model
