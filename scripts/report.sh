#!/usr/bin/env bash
# Puts a generated text into a document: report.sh DOCUMENT NAME FILE replaces the lines
# between <!-- NAME: begin --> and <!-- NAME: end --> with the file.
set -euo pipefail
[ $# = 3 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }

for mark in begin end; do
	grep -qF "<!-- $2: $mark -->" "$1" || { echo "$1 has no line <!-- $2: $mark -->" >&2; exit 1; }
done
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
awk -v begin="<!-- $2: begin -->" -v end="<!-- $2: end -->" -v file="$3" '
	$0 == end { skip = 0 }
	!skip { print }
	$0 == begin { skip = 1; while ((getline line < file) > 0) print line }
' "$1" >"$tmp"
cat "$tmp" >"$1"
