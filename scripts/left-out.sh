#!/usr/bin/env bash
# Says on which engines tests did not run, because they cannot be had.
cd "$(dirname "$0")/.." || exit
for reason in .tools/engines/*/unavailable; do
	[ ! -e "$reason" ] || echo "NOT RUN: $(basename "${reason%/unavailable}"): $(cat "$reason")"
done
