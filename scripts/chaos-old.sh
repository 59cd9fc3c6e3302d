#!/usr/bin/env bash
# Usage: scripts/chaos-old.sh [COMMIT]
#
# Builds the processes of proof/chaos at a commit, and prints the path of the program.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || exit 0
program=$PWD/bin/chaos-$(git rev-parse --short "$1^{commit}").test
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT
git worktree add --quiet --detach "$tree" "$1"
(cd "$tree/proof/chaos" && go test -c -o "$program" .)
echo "$program"
