#!/usr/bin/env bash
# Says which engines the tests did not run on because they could not be had.
cd "$(dirname "$0")/.." || exit
for reason in .tools/engines/*/unavailable; do
	[ ! -e "$reason" ] || echo "NOT RUN: $(basename "$(dirname "$reason")"): $(cat "$reason")"
done
