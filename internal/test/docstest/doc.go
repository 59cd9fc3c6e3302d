// Package docstest checks the documentation against the code. Its tests compile, decode
// or run every code block in README.md, CONTRIBUTING.md and docs. They also look up every
// link, test, command, flag, Go name, metric and log message that these files mention.
//
// A table row with a column of tests names the tests of one package: as lease.TestX, or
// as TestX where the row, or the line before the table, links to the package.
//
// The word after the fence says what a block is:
//
//	go       A file, declarations or statements. The variables and types in
//	         prelude_test.go are declared for it, and packages are imported by name. The
//	         block must type-check; unused variables and imports are allowed.
//	yaml     A key idworker holds an idworker.Config, which must be valid. The keys db
//	         and redis hold those of providers, gormplugin holds its Config. Unknown keys
//	         are errors.
//	json     Must be valid JSON.
//	sql      The comment before it names the engine. A block for sqlite runs on the
//	         tables of the folders schema. Blocks for mysql and postgres may only name tables
//	         and columns of that schema.
//	sh       Each line is a command.
//	console  A line that begins with "$ " is a command; the others are its output.
//	mermaid  Must not contain a semicolon.
//	text     Is not checked.
//
// Programs, folders, tests, make targets and flags in commands must exist. Cheap commands
// are run, and their output is compared line by line; "..." matches anything.
//
// A Go block that is a program is run too, on the page that TestPrograms names. It must print
// what the console block after it shows; digits may differ.
//
// A comment <!-- docstest: X --> on the line before the fence sets X: the engine of a sql
// block, or "module DIR" for a Go block that is compiled in another module of this repository.
package docstest
