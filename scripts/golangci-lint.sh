#!/usr/bin/env bash
# Runs golangci-lint, of the version below, with the given arguments. The first run builds it
# from source into .tools/, which takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

version=2.15.0
program=.tools/golangci-lint
if [ "$("$program" version --short 2>/dev/null)" != "$version" ]; then
	echo "golangci-lint: building version $version"
	GOBIN="$PWD/.tools" go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version"
fi
exec "$program" "$@"
