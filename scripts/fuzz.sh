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

# parts PACKAGE NAME prints the files to build the fuzz test from, as few as compile: what they
# link is compiled once more, with counters.
parts() {
	local dir file files
	dir=$(go list -f '{{.Dir}}' "$1")
	file=$(grep -l "^func $2(" "$dir"/*_test.go)
	for files in "${file/_test.go/.go} $file" "$(go list -f '{{range .GoFiles}}{{$.Dir}}/{{.}} {{end}}' "$1") $file"; do
		# shellcheck disable=SC2086 # a list
		! go vet $files >/dev/null 2>&1 || { echo "$files"; return; }
	done
	echo "$1"
}

go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "${@:3}" | while read -r package; do
	for name in $(cd "$(go list -f '{{.Dir}}' "$package")" && sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' ./*_test.go | grep -E "$2"); do
		echo "$package $name"
		# shellcheck disable=SC2046 # a list
		go test -vet=off -run '^$' -fuzz "^$name\$" -fuzztime "$1" $(parts "$package" "$name") </dev/null
	done
done
