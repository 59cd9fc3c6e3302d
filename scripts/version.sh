#!/usr/bin/env bash
# Usage: scripts/version.sh [v1.2.3]
#
# Checks that the modules of this repository require one another in the newest version of
# CHANGELOG.md, and prints it. With a version, it first sets the requirements to it, and then
# prints the tags to push.
#
# A published module has a go.work, which points to this tree, and no replace, which Go ignores
# in required modules. The others have a replace for each requirement.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "version: $*" >&2; status=1; }
status=0
module=$(sed -n 's/^module //p' go.mod)
mapfile -t mods < <(git ls-files '*go.mod')
mapfile -t published < <(echo .; git ls-files '*/go.work' | xargs -r dirname)
newest=v$(sed -nE 's/^## \[([0-9][^]]*)\].*/\1/p' CHANGELOG.md | head -n 1)

# required FILE prints the modules of this repository that a go.mod requires, with their versions.
required() { sed -nE "s#^(require)?[[:space:]]*($module(/[^ ]+)?) (v[^ ]+).*#\2 \4#p" "$1"; }

if [ $# = 1 ]; then
	[[ $1 =~ ^v[01]\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$ ]] || { fail "$1 is no version such as v0.2.0; v2 would need other module paths"; exit 2; }
	[ "$1" = "$newest" ] || { fail "write the section [${1#v}] of CHANGELOG.md first; its newest is [${newest#v}]"; exit 1; }
	[ -z "$(git tag -l "$1")" ] || { fail "the tag $1 exists, and a published version never changes"; exit 1; }
	for mod in "${mods[@]}"; do
		required "$mod" | while read -r path _; do go mod edit -require="$path@$1" "$mod"; done
	done
fi

for mod in "${mods[@]}"; do
	dir=$(dirname "$mod")
	is_published=
	[[ " ${published[*]} " != *" $dir "* ]] || is_published=yes
	if [ $is_published ] && grep -qE '^(replace|exclude)\b' "$mod"; then
		fail "$mod is published, and has a replace or exclude, which does not hold for those who require it"
	fi
	while read -r path version; do
		folder=${path#"$module"}
		folder=${folder#/}
		[ "$version" = "$newest" ] || fail "$mod requires $path $version, and CHANGELOG.md says $newest: run scripts/version.sh $newest"
		if [ ! $is_published ]; then
			grep -qF "$path => " "$mod" || fail "$mod has no replace for $path"
		elif [[ " ${published[*]} " != *" ${folder:-.} "* ]]; then
			fail "$mod requires $path, which is not published: it has no go.work"
		fi
	done < <(required "$mod")
done
[ $status = 0 ] || exit $status

if [ $# = 0 ]; then
	echo "$newest"
	exit
fi
# GitHub starts no workflow for more than three tags of one push, and the last one starts the release.
tags=()
for dir in "${published[@]}"; do [ "$dir" = . ] || tags+=("$dir/$newest"); done
echo "The modules agree on $newest. Once this is committed and on main:"
for tag in "${tags[@]}" "$newest"; do echo "  git tag -a -m '$tag' $tag"; done
echo "  git push origin ${tags[*]}"
echo "  git push origin $newest"
