#!/usr/bin/env bash
# Runs each fuzz test that a regular expression matches, in all packages or those given, for
# a time or a number of runs (default 10s):
#
#   scripts/fuzz.sh [10s|100000x [expression [package...]]]
#
# When a time ends during a run, go test may report a failure ("context deadline exceeded").
# A number of runs avoids that.
set -euo pipefail
cd "$(dirname "$0")/.."
(($# > 2)) || set -- "${1:-10s}" "${2:-^Fuzz}" ./...

go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "${@:3}" | while read -r package; do
	for name in $(go test -list "$2" "$package" </dev/null | grep '^Fuzz' || true); do
		echo "$package $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "$package" </dev/null
	done
done
