#!/usr/bin/env bash
# Says which tests did not run, or not on which engines, because what they need cannot be had.
cd "$(dirname "$0")/.." || exit
for reason in .tools/engines/*/unavailable .tools/not-run/*; do
	[ ! -e "$reason" ] || echo "NOT RUN: $(basename "${reason%/unavailable}"): $(cat "$reason")"
done
