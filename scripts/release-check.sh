#!/usr/bin/env bash
# Rehearses a release of this checkout: builds what it would publish with scripts/release.sh,
# in a clone that has the tags, and checks what "go get" and "go install" get. The program
# examples/first and the one in docs/guide.md
# are built from the modules, in an empty directory and with an empty module cache. Files
# that git does not track are in no release.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(scripts/version.sh)
module=$(sed -n 's/^module //p' go.mod)
mapfile -t published < <(git ls-files '*/go.work' | xargs -r dirname)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
fail() { echo "release-check: $*" >&2; exit 1; }

# The tracked files, as they are now.
cp "$(git rev-parse --git-path index)" "$temp/index"
GIT_INDEX_FILE=$temp/index git add -u
tree=$(GIT_INDEX_FILE=$temp/index git write-tree)
commit=$(git rev-parse HEAD)
[ "$tree" = "$(git rev-parse 'HEAD^{tree}')" ] ||
	commit=$(git -c user.name=release-check -c user.email=release-check commit-tree "$tree" -p HEAD -m release-check)
git clone -q --shared --no-checkout . "$temp/clone"
git -C "$temp/clone" checkout -q --detach "$commit"
mkdir -p .tools && ln -s "$PWD/.tools" "$temp/clone/.tools"
for dir in "${published[@]}"; do git -C "$temp/clone" tag -f "$dir/$version" >/dev/null; done
git -C "$temp/clone" tag -f "$version" >/dev/null
"$temp/clone/scripts/release.sh" "$temp/dist" >"$temp/table"
(cd "$temp/dist/files" && sha256sum --quiet -c checksums.txt)

# Other modules come from the module cache, or from the proxy. Nothing is written to
# the cache: the version that is checked is no release.
GOPROXY="file://$temp/dist/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GOPROXY GOMODCACHE="$temp/cache" GOFLAGS="-modcacherw -trimpath" GOWORK=off GOSUMDB=off

# program FILE: the first block of Go in a page that is a program.
program() {
	awk '/^```/ { inside = 0 } $0 == "package main" && last == "```go" { inside = !count++ } inside { print } { last = $0 }' "$1"
}

mkdir "$temp/shop"
cp examples/first/main.go "$temp/shop/"
mkdir "$temp/shop/fx" "$temp/shop/meter"
program docs/guide.md >"$temp/shop/fx/main.go"
cat >"$temp/shop/meter/main.go" <<END
package main

import (
	"$module/entid"
	"$module/etcdseq"
	"$module/metrics"
)

func main() { _, _, _ = metrics.NewCollector, etcdseq.Module, entid.Hook }
END
cd "$temp/shop"
go mod init shop
for dir in "${published[@]}"; do go get "$module/$dir/...@$version"; done
for dir in "${published[@]}"; do go build "$module/$dir/..."; done
go get "$module@$version"
go mod tidy
go build -o "$temp/bin/" ./...
(cd "$temp" && bin/shop)
for command in cmd/snowlease cmd/snowlease-etcd etcdseq/examples/orders; do GOBIN="$temp/bin" go install "$module/$command@$version"; done
cd "$temp/cache/$module@$version"
go build ./... # what the programs do not import

# Installed commands print their version, released ones their commit too.
for name in snowlease snowlease-etcd; do
	"$temp/bin/$name" --version | grep -F "$name $version go" || fail "$name does not know its version"
	tar -xzf "$temp/dist/files/${name}_${version#v}_$(go env GOOS)_$(go env GOARCH).tar.gz" -C "$temp"
	"$temp/${name}_${version#v}_$(go env GOOS)_$(go env GOARCH)/$name" --version | grep -F "$name $version $commit go" || fail "$name does not know its commit"
done

cat "$temp/table"
echo "release-check: $version can be released"
