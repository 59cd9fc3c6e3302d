// Package gormkeys inserts rows of models made at random, with associations made at random,
// through gormplugin, and compares the keys that the values hold afterwards with those that
// the database has.
//
// The package has only tests.
package gormkeys
