// Package load shows what the keepers of many processes cost a Redis, a MariaDB and a
// PostgreSQL: 1,024 of them that hold their worker ids, all of them renewing as fast
// as they can, and 1,000 that start at once.
//
// It is its tests, which hold that all worker ids are distinct and none is lost, and
// its benchmarks, which measure:
//
//	go test -run '^$' -bench Load ./internal/proof/load -load.report load.md
//
// Keepers are the real ones, over real connections. All run in one process, which
// takes its share of the machine too; so the figures are what a server does at
// least.
package load
