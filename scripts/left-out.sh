#!/usr/bin/env bash
# Prints the engines on which tests did not run because they are not available.
cd "$(dirname "$0")/.." || exit
for reason in .tools/engines/*/unavailable; do
	[ ! -e "$reason" ] || echo "NOT RUN: $(basename "${reason%/unavailable}"): $(cat "$reason")"
done
