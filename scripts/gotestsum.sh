#!/usr/bin/env bash
# Runs gotestsum with the given arguments.
set -euo pipefail
exec "$(dirname "$0")/tool.sh" gotest.tools/gotestsum@v1.13.0 "$@"
