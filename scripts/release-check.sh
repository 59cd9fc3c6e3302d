#!/usr/bin/env bash
# Checks what "go get" and "go install" get once this checkout is tagged: builds the
# zip files of the published modules as a module proxy serves them, and the programs of
# README.md from them, in an empty directory and with an empty module cache. Files that
# git does not track are in no release. The version is the newest one of CHANGELOG.md.
set -euo pipefail
cd "$(dirname "$0")/.."

module=github.com/snowlease/snowlease
published=(. metrics etcdseq entid)
version=v$(sed -n 's/^## \[\([0-9][0-9.]*\)\].*/\1/p' CHANGELOG.md | head -n 1)
[ "$version" != v ] || { echo "release-check: CHANGELOG.md names no version" >&2; exit 1; }

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
# The tracked files, as they are now.
cp "$(git rev-parse --git-path index)" "$temp/index"
GIT_INDEX_FILE=$temp/index git add -u
tree=$(GIT_INDEX_FILE=$temp/index git write-tree)

nested=()
for mod in $(git ls-files '*/go.mod'); do
	nested+=(":(exclude)$(dirname "$mod")")
done
for dir in "${published[@]}"; do
	path=$module
	files=(. "${nested[@]}")
	if [ "$dir" != . ]; then
		path=$module/$dir
		files=(.)
	fi
	if go -C "$dir" mod edit -json | grep -q '"Replace": \['; then
		echo "release-check: $dir/go.mod has a replace, which does not hold for those who require it" >&2
		exit 1
	fi
	at=$temp/proxy/$path/@v
	mkdir -p "$at"
	cp "$dir/go.mod" "$at/$version.mod"
	echo "$version" >"$at/list"
	echo "{\"Version\":\"$version\"}" >"$at/$version.info"
	git archive --format=zip --prefix="$path@$version/" -o "$at/$version.zip" "$tree:${dir#.}" "${files[@]}"
done

# Other modules come from the module cache, or from the proxy. Nothing is written to
# the cache: the version that is checked is no release.
GOPROXY="file://$temp/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GOPROXY GOMODCACHE="$temp/cache" GOFLAGS="-modcacherw -trimpath" GOWORK=off GOSUMDB=off

# program N: the Nth block of Go in README.md.
program() {
	awk -v n="$1" '/^```go$/ { inside = ++count == n; next } /^```/ { inside = 0 } inside' README.md
}

mkdir "$temp/shop"
program 1 >"$temp/shop/main.go"
mkdir "$temp/shop/fx" "$temp/shop/meter"
program 2 >"$temp/shop/fx/main.go"
cat >"$temp/shop/meter/main.go" <<END
package main

import (
	"$module/entid"
	"$module/etcdseq"
	"$module/metrics"
	"$module/metrics/otel"
)

func main() { _, _, _, _ = metrics.Module, otel.Register, etcdseq.Module, entid.Hook }
END
cd "$temp/shop"
go mod init shop
go get "$module@$version" "$module/metrics@$version" "$module/etcdseq@$version" "$module/entid@$version"
go mod tidy
go build -o "$temp/bin/" ./...
go build "$module/metrics/..." "$module/etcdseq" "$module/entid"
(cd "$temp" && bin/shop)
GOBIN="$temp/bin" go install "$module/cmd/snowlease@$version"
GOBIN="$temp/bin" go install "$module/etcdseq/cmd/snowlease-etcd@$version" "$module/etcdseq/examples/orders@$version"
"$temp/bin/snowlease" version
"$temp/bin/snowlease-etcd" version
cd "$temp/cache/$module@$version"
go build ./... # what the programs do not import
echo "release-check: $version can be released"
