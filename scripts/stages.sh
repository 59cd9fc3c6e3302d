#!/usr/bin/env bash
# Usage: scripts/stages.sh test|prove
#
# Runs every stage of "make test" or "make prove" to its end, and then says how long each
# took, which tests failed, and how to run one of them again.
set -uo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."

timeout=${TESTTIME:-10m}
logs=$(mktemp -d)
trap 'end; rm -rf "$logs" "${memory:-}"' EXIT
trap 'trap - TERM; kill 0' INT TERM # also what runs in the background

# What test servers write goes to memory, if there are 4 GiB and programs may be run from it: how
# fast a disk is decides no test of theirs then. The go command and t.TempDir stay on the disk.
if [ -z "${TMPDIR:-}" ] && memory=$(mktemp -d -p /dev/shm snowlease-test-XXXXXX 2>/dev/null); then
	printf '#!/bin/sh\n' >"$memory/program" && chmod 755 "$memory" "$memory/program"
	if [ "$(df --output=avail -k "$memory" | tail -n 1)" -gt $((4 << 20)) ] && "$memory/program" 2>/dev/null; then
		export TMPDIR=$memory GOTMPDIR=$logs
	fi
fi

scripts/gotestsum.sh --version >/dev/null # built once, before stages run beside each other

# servers ENGINE...: one server of each for all packages, since each takes seconds to start.
# The variables that name them are those that name a server of one's own, which stays if it is
# set. Tests that kill, freeze or set up servers start their own.
servers() {
	local line
	go build -o "$logs/servers" ./internal/test/testserver/servers || return
	coproc servers { exec "$logs/servers" "$@"; }
	pid=$servers_PID input=${servers[1]}
	while read -r line <&"${servers[0]}"; do
		[ "$line" != ready ] || return 0
		export "${line?}"
	done
	return 1
}

# end ends the servers.
end() {
	[ -n "${pid:-}" ] || return 0
	exec {input}>&-
	wait "$pid"
}

# stage NAME COMMAND...
stage() {
	local name=$1 start=$SECONDS result=passed
	shift
	echo "== $name"
	"$@" 2>&1 | tee "$logs/stage.$name" || result=failed # pipefail
	printf '%-10s %-6s %4d s\n' "$name" $result $((SECONDS - start)) | tee -a "$logs/rows"
}

# gotest DIR ARGUMENT...: go test with the arguments in a folder. -count=1, because go test
# caches results without regard to the servers. make lint vets the tests. Programs without
# debugging information are linked faster.
gotest() {
	local dir=$1 json result=0 package test
	json=$(mktemp -p "$logs")
	shift
	(cd "$dir" && "$OLDPWD/scripts/gotestsum.sh" --format pkgname --format-hide-empty-pkg --format-icons text --hide-summary skipped --jsonfile "$json" \
		-- -count=1 -timeout "$timeout" -vet=off -ldflags='-s -w' "$@") </dev/null || result=1
	local flags=()
	[[ " $* " != *" -race "* ]] || flags+=(-race)
	[[ " $* " != *" -tags prove "* ]] || flags+=(-tags prove)
	grep -h '"Action":"fail"' "$json" 2>/dev/null | sed -nE 's/.*"Package":"([^"]*)".*"Test":"([^"/]*)".*/\1 \2/p; t; s/.*"Package":"([^"]*)".*/\1/p' | sort -u >"$json.failed"
	while read -r package test; do
		# A package fails with its tests.
		[ -n "$test" ] || ! grep -q "^$package ." "$json.failed" || continue
		echo "  go -C $dir test -count=1${flags[*]:+ ${flags[*]}}${test:+ -run '^$test\$'} $package" >>"$logs/failed"
	done <"$json.failed"
	return $result
}

# race is the race detector without SQLite, whose C code was translated to Go: with it the
# tests on SQLite take three times as long.
race=(-race -gcflags='modernc.org/...=-race=false')

# proofs DIR: the tests behind the tag prove, which are among others of their packages. What
# they look for is outside of the process, so they run without the race detector.
proofs() {
	local files names
	mapfile -t files < <(cd "$1" && git grep -l '^//go:build prove' -- '*_test.go' ':!:proof' ':!:etcdseq')
	names=$(cd "$1" && sed -nE 's/^func (Test[A-Za-z0-9_]*)\(.*/\1/p' "${files[@]}" | grep -vx TestMain | sort -u | paste -sd '|')
	mapfile -t files < <(printf './%s\n' "${files[@]}" | xargs -n 1 dirname | sort -u)
	gotest "$1" -tags prove -p 3 -run "^($names)\$" "${files[@]}"
}

# What reads the documentation has nothing to race. It runs beside the modules, and is printed
# after them.
modules() {
	local module result=0
	gotest . ./internal/test/docstest >"$logs/docs" 2>&1 &
	for module in */go.mod */*/go.mod */*/*/go.mod; do
		module=${module%/go.mod}
		[[ $module = proof || $module = bench ]] || gotest "$module" "${race[@]}" ./... || result=1
	done
	wait $! || result=1
	cat "$logs/docs"
	return $result
}

case ${1:-} in
test)
	servers mariadb mysql postgres redis || exit
	mapfile -t packages < <(go list ./... | grep -v /internal/test/docstest$)
	stage modules modules &
	beside=$!
	stage library gotest . "${race[@]}" -p 3 "${packages[@]}"
	wait $beside
	;;
prove)
	servers mariadb mysql postgres redis || exit
	# Tests with servers mostly wait. What only computes gets the time that they leave.
	(
		renice -n 19 $BASHPID >/dev/null
		stage models gotest proof ./model ./simulate
		stage bench gotest bench ./...
		# What people write by hand; the seeds of all others are part of make test.
		stage fuzz scripts/fuzz.sh 50000x '^Fuzz(Config|ParseStore|Record|Decode)$' ./idworker ./cmd/internal/cli/sqlredis ./internal/rules ./hostseq ./publicid
	) &
	beside=$!
	stage stores proofs .
	stage etcd proofs etcdseq
	stage chaos gotest proof ./chaos
	stage fleets gotest proof -p 2 ./internal/controls ./fleet ./moving ./load ./gormkeys
	wait $beside
	stage mutants gotest proof ./mutation
	;;
*)
	echo "usage: scripts/stages.sh test|prove" >&2
	exit 2
	;;
esac

# What failed, shortly, because it stands between many lines of others.
for log in "$logs"/stage.*; do
	awk '/^=== FAIL: /, /^$/ { n = /^=== FAIL: / ? 0 : n + 1; if (n <= 20) print substr($0, 1, 300) }' "$log"
done
echo "== $1"
cat "$logs/rows"
scripts/left-out.sh
if [ -e "$logs/failed" ]; then
	echo "failed; run one of them again with"
	sort "$logs/failed" | head -n 12
	[ "$(wc -l <"$logs/failed")" -le 12 ] || echo "  and $(($(wc -l <"$logs/failed") - 12)) more"
fi
! grep -q ' failed ' "$logs/rows"
