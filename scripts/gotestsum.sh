#!/usr/bin/env bash
# Runs gotestsum, of the version below, with the given arguments. The first run builds it.
set -euo pipefail

version=v1.13.0
top=$(cd "$(dirname "$0")/.." && pwd)
program=$top/.tools/gotestsum-$version
if [ ! -x "$program" ]; then
	temp=$(mktemp -d)
	GOWORK=off GOBIN="$temp" go install "gotest.tools/gotestsum@$version"
	mkdir -p "$top/.tools"
	mv "$temp/gotestsum" "$program"
	rmdir "$temp"
fi
exec "$program" "$@"
