#!/usr/bin/env bash
# Runs "go mod tidy" with the arguments given in every module of the repository. A
# module that is published requires a version of the library that may not be out yet
# and has no replace, so it is tidied with the one of its go.work, which tidy ignores.
set -euo pipefail
cd "$(dirname "$0")/.."

for mod in $(git ls-files '*go.mod'); do
	(
		cd "$(dirname "$mod")"
		echo "-- go mod tidy in $(dirname "$mod")"
		if [ ! -e go.work ]; then
			go mod tidy "$@"
			exit
		fi
		temp=$(mktemp -d)
		trap 'rm -rf "$temp"' EXIT
		cp go.mod go.sum "$temp"
		replace=github.com/snowlease/snowlease
		GOWORK=off go mod edit -replace "$replace=.." "$temp/go.mod"
		GOWORK=off go mod tidy -modfile="$temp/go.mod" "$@"
		go mod edit -dropreplace "$replace" "$temp/go.mod"
		cp "$temp/go.sum" go.sum
		cmp -s "$temp/go.mod" go.mod || cp "$temp/go.mod" go.mod
	)
done
