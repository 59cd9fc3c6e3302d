// Package publicid tests publicid.ID with routers and SQL libraries that the library itself
// does not require. The example gin is a service with such ids.
package publicid
