#!/usr/bin/env bash
# Usage: scripts/newest.sh [COMMAND...]
#
# Runs "make test prove", or the command, in a clone of the last commit in which every module
# requires the newest versions of its dependencies. Servers and tools that are unpacked already
# are taken from this tree.
set -euo pipefail
cd "$(dirname "$0")/.."

top=$PWD clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone -q "$top" "$clone"
mkdir -p .tools
ln -s "$top/.tools" "$clone/.tools"
cd "$clone"

# -e, because the modules of this repository may not be released.
for mod in $(git ls-files '*go.mod'); do (
	cd "$(dirname "$mod")"
	newer=$(go list -e -m -u -f '{{if not (or .Main .Indirect .Replace)}}{{with .Update}}-require={{.Path}}@{{.Version}}{{end}}{{end}}' all)
	[ -z "$newer" ] || xargs -t go mod edit <<<"$newer"
); done
# Twice, because the go.mod of a module affects the modules here that require it.
scripts/tidy.sh && scripts/tidy.sh
for work in $(git ls-files '*go.work'); do (cd "$(dirname "$work")" && go work use .); done

[ $# -gt 0 ] || set -- make test prove
"$@"
