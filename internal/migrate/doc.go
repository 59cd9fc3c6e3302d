// Package migrate plans the switch from another id generator to snowlease, for the command
// "snowlease inspect". A Plan has a layout and worker ids with which new ids neither collide with
// old ids nor sort before them. It also reports whether old and new processes may run side by
// side.
//
// Two ids of one layout are equal only if their time, worker and sequence are equal. So new ids
// with the old layout and other worker ids never collide with old ids. If the new layout keeps
// only the epoch and the place of the time, new ids do not collide with ids of earlier ticks.
package migrate
