// Package docstest holds the documentation to the code: its tests compile, decode or run
// every block of code in README.md, CONTRIBUTING.md, docs and their translations, and look up
// every link, test, command, flag, Go name, metric and log message that they mention.
//
// A row of a table with a column of tests means those of one package: lease.TestX, or
// TestX beside a link to the package, or in a table whose heading line links to it.
//
// What a block is, is said by the word after its fence:
//
//	go       A file, or declarations, or statements. What they use of the variables and
//	         types in prelude_test.go is declared for them, and packages are imported by
//	         their names. It must type-check; what is not used is no fault.
//	yaml     A key idworker is an idworker.Config and must be valid, db and redis are
//	         those of providers, gormplugin is its Config. Unknown keys are faults.
//	json     Must be JSON.
//	sql      The comment before it names the engine: sqlite is run on the tables of
//	         dbseq/schema; mysql and postgres may name no table or column that these
//	         do not have.
//	sh       Each line is a command; console: each line after "$ ", and the others are
//	         what it prints. Programs, folders, tests, targets of make and flags must
//	         exist. What is cheap is run, and what it prints is compared, line by line;
//	         "..." stands for anything.
//	mermaid, text   are pictures.
//
// A Go block of a README that is a program is run as well: it prints what the console
// block after it says, but for the digits.
//
// A comment <!-- docstest: X --> on the line before the fence says X: the engine of sql,
// or "module DIR" where a Go block is compiled in another module of this repository.
package docstest
