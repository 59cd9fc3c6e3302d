#!/usr/bin/env bash
# Runs each fuzz test of the module, or those that a regular expression matches, for the
# time given (default 10s).
set -euo pipefail
cd "$(dirname "$0")/.."

go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | while read -r package; do
	for name in $(go test -list "${2:-^Fuzz}" "$package" </dev/null | grep '^Fuzz' || true); do
		echo "$package $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "${1:-10s}" "$package" </dev/null
	done
done
