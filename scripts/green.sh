#!/usr/bin/env bash
# Usage: scripts/green.sh N [test|prove] [busy]
#
# Runs "make test" or "make prove" N times in a fresh clone of the last commit and prints a
# table. With "busy", a program keeps one core busy. Servers and tools that are
# unpacked already are taken from this tree. Failed runs leave their output behind.
set -euo pipefail
cd "$(dirname "$0")/.."

times=${1:?how many times?} target=${2:-test} load=${3:-idle}
top=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work/clone"; [ -z "${burner:-}" ] || kill "$burner"' EXIT
if [ "$load" = busy ]; then
	(while :; do :; done) &
	burner=$!
fi

printf '| run | commit | %s | beside | seconds | failed |\n|--:|---|---|---|--:|---|\n' "$target"
status=0
for ((run = 1; run <= times; run++)); do
	rm -rf "$work/clone"
	git clone -q "$top" "$work/clone"
	mkdir -p .tools
	ln -s "$top/.tools" "$work/clone/.tools"
	start=$SECONDS result=passed
	CI=true make -C "$work/clone" "$target" >"$work/$run.log" 2>&1 </dev/null || result=failed
	failed=
	if [ $result = failed ]; then
		status=1
		failed="$(sed -n '/^failed; run/,$p' "$work/$run.log" | sed -nE "s/.*-run '\^(.*)\\$' .*/\1/p" | paste -sd ' ') $work/$run.log"
	fi
	printf '| %d | %s | %s | %s | %d | %s |\n' $run "$(git -C "$work/clone" rev-parse --short HEAD)" $result "$load" $((SECONDS - start)) "$failed"
done
exit $status
