#!/usr/bin/env bash
# Compares the API of the published modules with their last tags. An incompatible change
# is an error, unless CHANGELOG.md has a section "### Breaking" above the newest version.
# With no tag there is nothing to compare.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v0.0.0-20251023183803-a4bb9ffd2546
program=$PWD/.tools/apidiff-$version
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
status=0

# compare DIRECTORY PREFIX: the module there, and what its tags begin with.
compare() {
	local tag module changes
	if ! tag=$(git describe --tags --abbrev=0 --match "$2v[0-9]*" 2>/dev/null); then
		echo "apidiff: no tag $2v* yet, so nothing to compare $1 with"
		return
	fi
	if [ ! -x "$program" ]; then
		GOWORK=off GOBIN="$temp" go install "golang.org/x/exp/cmd/apidiff@$version"
		mkdir -p .tools
		mv "$temp/apidiff" "$program"
	fi
	module=$(cd "$1" && GOWORK=off go list -m)
	mkdir "$temp/old"
	git archive "$tag" | tar -x -C "$temp/old"
	(cd "$temp/old/$1" && "$program" -m -w "$temp/old.api" "$module") 2> >(grep -v '^Ignoring internal' >&2)
	(cd "$1" && "$program" -m -w "$temp/new.api" "$module") 2> >(grep -v '^Ignoring internal' >&2)
	changes=$("$program" -m -incompatible "$temp/old.api" "$temp/new.api")
	rm -rf "$temp/old"
	if [ -z "$changes" ]; then
		echo "apidiff: $module is compatible with $tag"
	elif sed '/^## \[[0-9]/,$d' CHANGELOG.md | grep -q '^### Breaking'; then
		printf 'apidiff: %s breaks with %s, as CHANGELOG.md says:\n%s\n' "$module" "$tag" "$changes"
	else
		printf 'apidiff: %s breaks with %s: keep what was there, or say so below "### Breaking" in CHANGELOG.md:\n%s\n' "$module" "$tag" "$changes" >&2
		status=1
	fi
}

compare . ""
for dir in $(git ls-files '*/go.work' | xargs -r dirname); do compare "$dir" "$dir/"; done
exit $status
