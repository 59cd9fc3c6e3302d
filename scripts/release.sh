#!/usr/bin/env bash
# Usage: scripts/release.sh FOLDER
#
# Builds what a release publishes from the last commit, which has the tags of
# scripts/version.sh, and prints a table of it. The folder must not exist. It gets
#
#   proxy/   the published modules, as a module proxy serves them
#   files/   an archive and a software bill of materials for each command and platform,
#            and their checksums
#   image/   the context of deploy/image/Dockerfile
#   notes.md the section of CHANGELOG.md
#
# Two builds of a commit with one version of Go give the same files, but for the machine's CA
# certificates in image/.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."

platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)
fail() { echo "release: $*" >&2; exit 1; }
version=$(scripts/version.sh)
module=$(sed -n 's/^module //p' go.mod)
mapfile -t published < <(echo .; git ls-files '*/go.work' | xargs -r dirname)
[ -z "$(git status --porcelain)" ] || fail "the work tree differs from the last commit"
mkdir "${1:?which folder?}" && out=$(cd "$1" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir "$out/files" "$out/image"

# path DIRECTORY and tag DIRECTORY: the path of the module there, and the tag of its version.
path() { if [ "$1" = . ]; then echo "$module"; else echo "$module/$1"; fi; }
tag() { if [ "$1" = . ]; then echo "$version"; else echo "$1/$version"; fi; }

# commands DIRECTORY prints the folders of the commands in the module there.
commands() {
	git ls-files "$1/main.go" "$1/cmd/*/main.go" | xargs -r dirname | while read -r command; do
		[ "$command" != "$1" ] && [ -e "$command/go.mod" ] || echo "$command"
	done
}

nested=()
for mod in $(git ls-files '*/go.mod'); do
	nested+=(":(exclude)$(dirname "$mod")")
done
for dir in "${published[@]}"; do
	git tag --points-at HEAD | grep -xF "$(tag "$dir")" >/dev/null || fail "the last commit has no tag $(tag "$dir")"
	at=$out/proxy/$(path "$dir")/@v
	mkdir -p "$at"
	cp "$dir/go.mod" "$at/$version.mod"
	echo "$version" >"$at/list"
	echo "{\"Version\":\"$version\"}" >"$at/$version.info"
	files=(HEAD . "${nested[@]}")
	# The go command adds the license of the repository to a module that has none.
	[ "$dir" = . ] || files=(--add-file=LICENSE "HEAD:$dir")
	git archive --format=zip --prefix="$(path "$dir")@$version/" -o "$at/$version.zip" "${files[@]}"
done

# The modules come from the folder, others from the module cache or the proxy. The cache is
# another one: this version may be no release yet.
GOPROXY="file://$out/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GOPROXY GOMODCACHE="$temp/cache" GONOSUMDB=$module GOFLAGS=-modcacherw GOWORK=off CGO_ENABLED=0

# licenses PROGRAM prints the licenses of Go and of the modules in a program.
licenses() {
	local deps dir texts
	echo "== Go"
	cat "$(go env GOROOT)/LICENSE"
	mapfile -t deps < <(go version -m "$1" | awk '$1 == "dep" { print $2 "@" $3 }')
	go mod download -json "${deps[@]}" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' | while read -r dir; do
		texts=("$dir"/{LICENSE,LICENCE,License,COPYING,NOTICE}*)
		[ ${#texts[@]} -gt 0 ] || fail "$dir has no license"
		printf '\n== %s\n' "${dir#"$GOMODCACHE"/}"
		cat "${texts[@]}"
	done
}

# build MODULE COMMAND PLATFORM, both folders: the modules' own go.sum cannot know the version
# that is built with it, so a copy gets that line.
build() {
	local dir=$1 name os=${3%/*} arch=${3#*/} full program
	name=$(basename "$2")
	full=${name}_${version#v}_${os}_$arch
	program=$temp/$full/$name
	[ "$os" != windows ] || program+=.exe
	mkdir "$temp/$full"
	cp LICENSE "$temp/$full/"
	cp "$dir/go.mod" "$temp/copy.mod"
	cp "$dir/go.sum" "$temp/copy.sum"
	GOOS=$os GOARCH=$arch go -C "$dir" build -mod=mod -modfile="$temp/copy.mod" -trimpath -buildvcs=true -ldflags='-s -w' -o "$program" "$PWD/$2"
	licenses "$program" >"$temp/$full/THIRD-PARTY.txt"
	tar --sort=name --mtime="@$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s -C "$temp" -c "$full" | gzip -9n >"$out/files/$full.tar.gz"
	scripts/tool.sh github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -noserial -notimestamp -version "$version" -output "$out/files/$full.cdx.json" "$program" 2>"$temp/sbom.log" ||
		{ cat "$temp/sbom.log" >&2; fail "no bill of materials for $full"; }
	if [ "$os" = linux ]; then
		mkdir -p "$out/image/$arch/licenses/$name"
		cp "$program" "$out/image/$arch/"
		cp "$temp/$full/LICENSE" "$temp/$full/THIRD-PARTY.txt" "$out/image/$arch/licenses/$name/"
	fi
}

for dir in "${published[@]}"; do
	for command in $(commands "$dir"); do
		for platform in "${platforms[@]}"; do
			build "$dir" "$command" "$platform"
		done
	done
done
cp /etc/ssl/certs/ca-certificates.crt "$out/image/"
(cd "$out/files" && sha256sum -- * >"$temp/checksums.txt" && mv "$temp/checksums.txt" .)
awk '/^## \[/ { if (inside++) exit; next } inside' CHANGELOG.md | sed -E "s#\]\(([a-z][^():]*)\)#](https://$module/blob/$version/\1)#g" >"$out/notes.md"

row() { printf '%-42s %-16s %-48s %9s  %s\n' "$@"; }
row module tag artifact bytes "SHA-256, of a module as in go.sum"
for dir in "${published[@]}"; do
	sum=$(go mod download -json "$(path "$dir")@$version" | sed -n 's/^\t"Sum": "\(.*\)",$/\1/p')
	row "$(path "$dir")" "$(tag "$dir")" "module" "$(stat -c %s "$out/proxy/$(path "$dir")/@v/$version.zip")" "$sum"
	for command in $(commands "$dir"); do
		for file in "$out/files/$(basename "$command")_"*; do
			row "$(path "$dir")" "$(tag "$dir")" "$(basename "$file")" "$(stat -c %s "$file")" "$(sha256sum <"$file" | cut -d' ' -f1)"
		done
	done
done
row "" "$version" checksums.txt "$(stat -c %s "$out/files/checksums.txt")" "$(sha256sum <"$out/files/checksums.txt" | cut -d' ' -f1)"
