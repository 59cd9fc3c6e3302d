// Package console is an http.Handler that shows people what a worker does: its lease
// on a time line, who holds which worker id of the namespace, the rate of ids, and what
// the bits of an id say.
//
//	mux.Handle("/idworker/", console.New(worker))
//
// Mount it on a port for operators: it asks nobody who they are, and shows the names
// of hosts and the errors of the center. On a loopback address it answers requests for
// localhost and for addresses only, so that no web page reads it through a name of its
// own (DNS rebinding). It is read-only, works behind any prefix, loads
// nothing from elsewhere and works without JavaScript, but for what is live. The same
// is there as JSON:
//
//	api/status           what the worker knows: idworker.Status, and more
//	api/slots            the worker ids of the namespace
//	api/decode?id=123    the fields of an id
//
// Errors are {"error": "..."} with a status of 4xx or 5xx. For monitoring use package
// metrics.
package console
