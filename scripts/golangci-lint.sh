#!/usr/bin/env bash
# Runs golangci-lint, of the version below, with the given arguments in the current folder. The
# first run builds it from source into .tools/, which takes some minutes.
set -euo pipefail
tools=$(cd "$(dirname "$0")/.." && pwd)/.tools

version=2.15.0
program=$tools/golangci-lint
if [ "$("$program" version --short 2>/dev/null)" != "$version" ]; then
	echo "golangci-lint: building version $version"
	GOBIN="$tools" go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version"
fi
exec "$program" "$@"
