// Package migrate plans the switch from another id generator to snowlease. A Plan has a
// layout and worker ids with which new ids neither collide with old ones nor sort before
// them, and says whether old and new processes may run side by side.
//
//	source, err := migrate.Named("bwmarrin") // or a Source of your own
//	source.Workers = []int64{1, 2}           // those that old processes have
//	plan, err := migrate.Make(source, ids, time.Now())
//	fmt.Println(plan)
//	cfg := idworker.Config{Namespace: "orders", Layout: plan.Layout, Workers: plan.Workers}
//
// Two ids of one layout are equal only if their time, worker and sequence are equal. New
// ids with the old layout and other worker ids therefore never collide with old ones. If
// the new layout keeps only the epoch and the place of the time, new ids do not collide
// with ids of earlier ticks.
package migrate
