// Package schema generates the JSON Schema of idworker.Config, for editors and programs: the file
// snowlease.schema.json. Durations in it are strings such as "30s", and unknown keys are errors.
//
// The file is generated from the fields of Config, their tags and doc comments. Do not
// edit it; run go generate ./internal/schema.
package schema

//go:generate go test -run ^TestUpToDate$ -update .
