#!/usr/bin/env bash
# Runs each fuzz test of the module, or those that a regular expression matches in the
# packages given, for the time or the number of runs given (default 10s):
#
#   scripts/fuzz.sh [10s|100000x [expression [package...]]]
#
# A time can end a run that is under way, which go test then reports as a failure
# ("context deadline exceeded"); a number of runs cannot.
set -euo pipefail
cd "$(dirname "$0")/.."
(($# > 2)) || set -- "${1:-10s}" "${2:-^Fuzz}" ./...

go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "${@:3}" | while read -r package; do
	for name in $(go test -list "$2" "$package" </dev/null | grep '^Fuzz' || true); do
		echo "$package $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "$package" </dev/null
	done
done
