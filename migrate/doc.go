// Package migrate says how to go on with a stream of ids that another generator
// began: which layout and worker ids to choose so that new ids collide with no old one
// and sort after all of them, whether old and new processes may run side by side, or
// why it cannot be.
//
//	plan, err := migrate.Make(migrate.Bwmarrin(), ids, time.Now())
//	fmt.Println(plan)
//	cfg := idworker.Config{Namespace: "orders", Layout: plan.Layout, Workers: plan.Workers}
//
// Two ids of one layout are equal only if their time, worker and sequence are. So new
// ids that have the old layout and other worker ids collide with no old id, whenever
// they are made; and new ids of any layout whose time stands in the same bits and
// counts from the same epoch collide with none that was made in an earlier tick.
package migrate
