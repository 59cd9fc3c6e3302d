// Package console provides an http.Handler that shows a worker to people: its lease on a
// time line, the holders of the namespace's worker ids, the rate of ids, and the fields of
// an id.
//
//	mux.Handle("/idworker/", console.New(worker))
//
// Mount it on a port for operators: it does not authenticate, and it shows host names and
// errors of the center. It is read-only, works behind any prefix and loads nothing from
// other sites. Without JavaScript it works too, but does not update itself.
//
// On a loopback address it answers only requests for localhost or for an address.
// Otherwise a web page could read it through DNS rebinding.
//
// The same data is available as JSON:
//
//	api/status           idworker.Status and more
//	api/slots            the worker ids of the namespace
//	api/decode?id=123    the fields of an id
//
// Errors are {"error": "..."} with a status of 4xx or 5xx. For monitoring use package
// metrics.
package console
