#!/usr/bin/env bash
# Usage: scripts/stages.sh test|prove
#
# Runs every stage of "make test" or "make prove" to its end, and then prints how long each
# took, which tests failed, and how to run one of them again.
set -uo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."

timeout=${TESTTIME:-10m}
logs=$(mktemp -d)
trap 'end; rm -rf "$logs" "${memory:-}" "${templates:-}"' EXIT
trap 'trap - TERM; kill 0' INT TERM # also what runs in the background

# Test servers write to memory, if there are 4 GiB and programs may be run from it, so that the
# speed of a disk affects no test. The go command and t.TempDir stay on the disk.
if [ -z "${TMPDIR:-}" ] && memory=$(mktemp -d -p /dev/shm snowlease-test-XXXXXX 2>/dev/null); then
	printf '#!/bin/sh\n' >"$memory/program" && chmod 755 "$memory" "$memory/program"
	if [ "$(df --output=avail -k "$memory" | tail -n 1)" -gt $((4 << 20)) ] && "$memory/program" 2>/dev/null; then
		export TMPDIR=$memory GOTMPDIR=$logs
	fi
fi

templates=$(mktemp -d)
export SNOWLEASE_TEST_TEMPLATES=$templates # data of new servers, which take seconds to make

scripts/gotestsum.sh --version >/dev/null # built once, before stages run in parallel

# servers ENGINE... starts one server of each for all packages, since each takes seconds to
# start, and names them in the variables for your own servers, which have precedence. Tests that kill, freeze or set up servers start their own.
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

# end stops the servers.
end() {
	[ -n "${pid:-}" ] || return 0
	exec {input}>&-
	wait "$pid"
}

# stage NAME COMMAND... also counts the CPU time, without that of servers.
stage() {
	local name=$1 start=$SECONDS result=passed TIMEFORMAT='%0U %0S'
	shift
	echo "== $name"
	# In a subshell, because time counts all children that end meanwhile, such as another row of stages.
	(time "$@" 2>&1 | tee "$logs/stage.$name" >&3) 3>&1 2>"$logs/cpu.$name" || result=failed # pipefail
	printf '%-10s %-6s %4d s, %4d s of CPU\n' "$name" $result $((SECONDS - start)) "$(awk 'END { print int($1 + $2) }' "$logs/cpu.$name")" | tee -a "$logs/rows"
}

# gotest DIR ARGUMENT...: go test with the arguments in a folder. -count=1, because go test
# caches results without regard to the servers. make lint vets the tests. Programs without
# debugging information are linked faster.
gotest() {
	local dir=$1 json result=0 package test
	json=$(mktemp -p "$logs" XXXXXX.json)
	shift
	(cd "$dir" && "$OLDPWD/scripts/gotestsum.sh" --format pkgname --format-hide-empty-pkg --format-icons text --hide-summary skipped --jsonfile "$json" \
		-- -count=1 -timeout "$timeout" -vet=off -ldflags='-s -w' "$@") </dev/null || result=1
	local flags=()
	[[ " $* " != *" -race "* ]] || flags+=(-race)
	[[ " $* " != *" -tags prove "* ]] || flags+=(-tags prove)
	grep -h '"Action":"fail"' "$json" 2>/dev/null | sed -nE 's/.*"Package":"([^"]*)".*"Test":"([^"/]*)".*/\1 \2/p; t; s/.*"Package":"([^"]*)".*/\1/p' | sort -u >"$json.failed"
	while read -r package test; do
		# A package fails when its tests do.
		[ -n "$test" ] || ! grep -q "^$package ." "$json.failed" || continue
		echo "  go -C $dir test -count=1${flags[*]:+ ${flags[*]}}${test:+ -run '^$test\$'} $package" >>"$logs/failed"
	done <"$json.failed"
	return $result
}

# slowest names the ten tests that took the longest. Of a test and its subtests it names one.
slowest() {
	sed -nE 's/.*"Action":"(pass|fail)","Package":"[^"]*snowlease\/([^"]*)","Test":"([^"]*)","Elapsed":([0-9.]+).*/\4 \2 \3/p' "$logs"/*.json |
		sort -rn | awk '
			{ for (i in named) if (index($3 "/", named[i] "/") == 1 || index(named[i] "/", $3 "/") == 1) next }
			n < 10 { named[n++] = $3; line = line sprintf("%s%s %s %.1f s", n > 1 ? ", " : "", $2, $3, $1) }
			END { if (n) print "slowest: " line }'
}

# race is the race detector without SQLite, whose C code was translated to Go: with it the
# tests on SQLite take three times as long.
race=(-race -gcflags='modernc.org/...=-race=false -dwarf=false')

# The packages whose goroutines share memory. The race detector makes tests up to ten times as
# slow and compiles the drivers of databases once more, so only make prove races packages that
# link them, on SQLite, miniredis and MySQL.
raced=(. ./casstore ./console ./hostseq ./internal/{engine,generator,keeper,numberstore,redisconn} ./numbers)
raced_by_prove=(./dbseq/... ./gormplugin ./idworker ./internal/{counter,redisnumbers,sqlconn} ./numbers/history ./redisseq)
raced_modules=(etcdseq metrics)

# others prints the packages that make test does not race. make prove tests the pages. dbseq comes
# last: its tests wait for servers the most, and by then everything is compiled.
others() { comm -23 <(go list ./... | grep -v /docstest$ | sort) <(go list "${raced[@]}" | sort) | awk '/\/dbseq$/ { last = $0; next } 1; END { print last }'; }

# tests FILE... prints the names of their tests, as a pattern.
tests() { sed -nE 's/^func (Test[A-Za-z0-9_]*)\(.*/\1/p' "$@" | grep -vx TestMain | sort -u | paste -sd '|'; }

# packages FILE... prints their packages, as arguments for go test.
packages() { printf './%s\n' "$@" | xargs -n 1 dirname | sort -u; }

# proofs DIR runs the tests behind the tag prove. They look for faults outside the process, so
# they run without the race detector.
proofs() {
	local files dirs
	mapfile -t files < <(cd "$1" && git grep -l '^//go:build prove' -- '*_test.go' ':!:proof' ':!:etcdseq')
	mapfile -t dirs < <(packages "${files[@]}")
	gotest "$1" -tags prove -p 2 -run "^($(cd "$1" && tests "${files[@]}"))\$" "${dirs[@]}"
}

# mysql runs the tests that make test runs on the other engines, except those of the race stage.
mysql() {
	local files dirs left=("${raced_by_prove[@]%/...}")
	mapfile -t files < <(git grep -lE 'testserver\.(New)?MySQL' -- '*_test.go' "${left[@]/#/:!:}" ':!:internal' ':!:bench' ':!:entid' ':!:proof')
	mapfile -t files < <(grep -L '^//go:build prove' "${files[@]}")
	mapfile -t dirs < <(packages "${files[@]}")
	SNOWLEASE_TEST_ENGINE=mysql gotest . -run "^($(tests "${files[@]}"))\$/(?i)mysql" "${dirs[@]}"
}

# modules tests the modules other than the library and the proofs.
modules() {
	local module result=0 flags
	for module in */go.mod */*/go.mod */*/*/go.mod; do
		module=${module%/go.mod} flags=()
		[[ $module != proof && $module != bench ]] || continue
		[[ " ${raced_modules[*]} " != *" $module "* ]] || flags=("${race[@]}")
		gotest "$module" "${flags[@]}" ./... || result=1
	done
	return $result
}

case ${1:-} in
test)
	servers mariadb postgres redis || exit
	export SNOWLEASE_TEST_ENGINE=${SNOWLEASE_TEST_ENGINE:-mariadb,postgres,redis} # the others are left to make prove
	stage race gotest . "${race[@]}" -p 1 "${raced[@]}" &
	beside=$!
	mapfile -t packages < <(others)
	stage library gotest . -p 2 "${packages[@]}"
	wait $beside
	;;
prove)
	servers mariadb mysql postgres redis || exit
	# Tests with servers mostly wait, so two rows of them run in parallel. Stages that only
	# compute get the time that they leave.
	(
		renice -n 5 $BASHPID >/dev/null
		stage mutants gotest proof -parallel 6 ./mutation
		stage bench gotest bench ./...
		# These two import little, which is compiled once more. The seeds of all are part of make test.
		stage fuzz scripts/fuzz.sh 50000x '^Fuzz(Record|Decode)$' ./internal/rules ./publicid
		stage models gotest proof ./model ./search ./simulate
	) &
	computing=$!
	(
		stage chaos gotest proof -parallel 2 ./chaos
		stage etcd proofs etcdseq
	) &
	waiting=$!
	stage stores proofs .
	SNOWLEASE_TEST_ENGINE=mysql stage race gotest . "${race[@]}" "${raced_by_prove[@]}"
	stage mysql mysql
	stage docs gotest . ./internal/test/docstest
	stage modules modules
	wait $waiting
	# A thousand processes need the machine.
	stage fleets gotest proof -p 2 -parallel 4 ./load
	wait $computing
	;;
*)
	echo "usage: scripts/stages.sh test|prove" >&2
	exit 2
	;;
esac

# A short list of failures, which are hard to find in the output.
for log in "$logs"/stage.*; do
	awk '/^=== FAIL: /, /^$/ { n = /^=== FAIL: / ? 0 : n + 1; if (n <= 20) print substr($0, 1, 300) }' "$log"
done
echo "== $1"
cat "$logs/rows"
slowest
scripts/left-out.sh
if [ -e "$logs/failed" ]; then
	echo "failed; run one of them again with"
	sort "$logs/failed" | head -n 12
	[ "$(wc -l <"$logs/failed")" -le 12 ] || echo "  and $(($(wc -l <"$logs/failed") - 12)) more"
fi
! grep -q ' failed ' "$logs/rows"
