// Package load measures what the keepers of many processes cost a Redis, a MariaDB and
// a PostgreSQL: 1,024 keepers that hold their worker ids, 1,024 that renew as fast as
// they can, 1,000 that start at once, and 1,000 whose server stood still for a minute.
//
// Its tests check that all worker ids are distinct and that none is lost. Its benchmarks
// measure, and write the table in docs/design/proof.md (ten minutes):
//
//	go -C proof test -run '^$' -bench Load -benchtime 1x ./load -load.report ../../docs/design/proof.md
//
// BenchmarkBurst lets 1,000 take all ids of their layout after a loss. BenchmarkFirstMinute draws
// what workers make of theirs in each second on five stores, through a loss and a failover:
//
//	go -C proof test -run '^$' -bench FirstMinute -benchtime 1x -v ./load -load.minute ../../docs/design/performance/minute.svg
//
// The keepers are real and use real connections. All of them run in one process, which shares
// the machine with the server, so the figures are a lower bound of what a server can do.
package load
