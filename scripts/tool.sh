#!/usr/bin/env bash
# Usage: scripts/tool.sh PACKAGE@VERSION ARGUMENT...
#
# Runs a Go program with the given arguments. The first run builds it into .tools/.
set -euo pipefail

package=${1%@*} version=${1##*@}
shift
top=$(cd "$(dirname "$0")/.." && pwd)
program=$top/.tools/${package##*/}-$version
if [ ! -x "$program" ]; then
	temp=$(mktemp -d)
	GOWORK=off GOBIN="$temp" go install "$package@$version" >&2
	mkdir -p "$top/.tools"
	mv "$temp/${package##*/}" "$program"
	rmdir "$temp"
fi
exec "$program" "$@"
