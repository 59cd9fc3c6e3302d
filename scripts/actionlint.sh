#!/usr/bin/env bash
# Checks the workflows in .github with actionlint.
set -euo pipefail
cd "$(dirname "$0")/.."
exec scripts/tool.sh github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 "$@"
