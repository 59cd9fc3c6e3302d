// Package gormsuite runs GORM's own test suite with gormplugin on every connection, and
// compares the failures with a list of expected differences. It needs a checkout of GORM:
//
//	git clone --branch v1.31.2 https://github.com/go-gorm/gorm /tmp/gorm
//	make gorm-suite GORM_SUITE=/tmp/gorm
//
// The checkout does not change. The suite's modules come from the module proxy, and its
// SQLite driver needs a C compiler.
package gormsuite
