// Package schema gives editors and programs the JSON Schema of idworker.Config:
// snowlease.schema.json beside this file, which "snowlease config schema" prints.
//
// It is generated from the fields of Config, their tags and doc comments, so that each
// key is documented in one place. Do not edit it: go generate ./schema
package schema

import _ "embed"

//go:generate go test -run ^TestUpToDate$ -update .

//go:embed snowlease.schema.json
var config string

// Config returns the schema of idworker.Config as it is written in YAML: durations are
// strings such as "30s", and a key that is not there is an error.
func Config() string { return config }
