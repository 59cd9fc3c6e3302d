// Package console provides an http.Handler with a page about the workers of a process: the
// outlook for ids with advice, the identity of the process, the lease on a time line, the rate
// of ids in the last 10 minutes, the holders of the namespace's worker ids, and, with
// Config.Numbers, small numbers.
//
//	mux.Handle("/idworker/", console.New(console.Config{Workers: []*snowlease.Worker{worker}}))
//
// Mount the console on a port for operators: it does not authenticate, and it shows host names
// and errors of the center. It is read-only, works behind any prefix and loads nothing from
// other sites. Without JavaScript, it works but does not update itself.
//
// On a connection to a loopback address, the console serves only requests whose Host is localhost
// or an IP address. Otherwise a web page could read it through DNS rebinding. So a proxy on the
// same host must send one of these as Host. Behind the published port of a container, the console
// serves any Host.
//
// The same data is available as JSON:
//
//	api/status      the outlook, the process, snowlease.Status and more
//	api/slots       the worker ids of the namespace
//	api/workers     the outlook of each worker
//	api/segments    numbers.Status of each segment, and its outlook
//
// The outlook has a level: green while ids are issued and will continue, amber if ids will stop
// or lie ahead of the clock, red if there are no ids, and gray before the start and after
// Close. The wait for the first worker id is amber while a countdown shows its end.
//
// The parameter worker=2 or worker=orders selects a worker by its position in Config.Workers,
// from 1, or by its namespace. The default is the first worker.
//
// Errors are {"error": "..."} with a status of 4xx or 5xx. If the store does not respond,
// api/slots adds the last list and its time. For monitoring, use package metrics.
package console
