// Package console provides an http.Handler that shows the workers of a process to people:
// what will happen to ids and what to do, which process it is, the lease on a time line,
// the rate of ids in the last 10 minutes, the holders of the namespace's worker ids, and,
// with Config.Numbers, small numbers.
//
//	mux.Handle("/idworker/", console.New(console.Config{Workers: []*snowlease.Worker{worker}}))
//
// Mount it on a port for operators: it does not authenticate, and it shows host names and
// errors of the center. It is read-only, works behind any prefix and loads nothing from
// other sites. Without JavaScript it works too, but does not update itself.
//
// On a connection to a loopback address it answers only requests for localhost or for an
// address. Otherwise a web page could read it through DNS rebinding. So a proxy on the same
// host sends one of these as Host. Behind the published port of a container, it answers for any name.
//
// The same data is available as JSON:
//
//	api/status      the outlook, the process, snowlease.Status and more
//	api/slots       the worker ids of the namespace
//	api/workers     the outlook of each worker
//	api/segments    numbers.Status of each segment, and its outlook
//
// The outlook has a level: green while ids are issued and that goes on, amber if they will
// stop or lie ahead of the clock, red without ids, and gray before the start and after the
// end. The wait for the first worker id is amber while a countdown says when it ends.
//
// Of several workers, the parameter worker=2 or worker=orders selects one by its place
// in Config.Workers or by its namespace; by default it is the first.
//
// Errors are {"error": "..."} with a status of 4xx or 5xx. If the store does not answer,
// api/slots adds the list as last seen, and when. For monitoring use package metrics.
package console
