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
		mapfile -t replaced < <(sed -nE 's/^(replace)?[[:space:]]*([^ ]+) => (.*)$/\2=\3/p' go.work)
		for module in "${replaced[@]}"; do GOWORK=off go mod edit -replace "$module" "$temp/go.mod"; done
		GOWORK=off go mod tidy -modfile="$temp/go.mod" "$@"
		for module in "${replaced[@]}"; do go mod edit -dropreplace "${module%%=*}" "$temp/go.mod"; done
		cp "$temp/go.sum" go.sum
		cmp -s "$temp/go.mod" go.mod || cp "$temp/go.mod" go.mod
	)
done
