// Package schema provides the JSON Schema of idworker.Config to editors and programs. It is
// the file snowlease.schema.json, which "snowlease config schema" also prints.
//
// The file is generated from the fields of Config, their tags and doc comments. Do not
// edit it; run go generate ./internal/schema.
package schema

import _ "embed"

//go:generate go test -run ^TestUpToDate$ -update .

//go:embed snowlease.schema.json
var config string

// Config returns the schema of an idworker.Config in YAML. Durations are strings such as
// "30s", and unknown keys are errors.
func Config() string { return config }
