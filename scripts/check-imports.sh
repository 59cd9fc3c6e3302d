#!/usr/bin/env bash
# Checks which packages a program links when it imports a package of this module. depguard
# sees direct imports only.
set -euo pipefail
cd "$(dirname "$0")/.."

module=$(go list -m)
mysql='github.com/go-sql-driver/|gorm.io/driver/mysql'
postgres='github.com/jackc/|github.com/lib/pq|gorm.io/driver/postgres'
sqlite='modernc.org/|github.com/libtnb/|github.com/glebarez/|github.com/ncruces/go-sqlite3|github.com/mattn/go-sqlite3|gorm.io/driver/sqlite'
redis='github.com/redis/'
gorm='gorm.io/'
tests="testing|github.com/stretchr/|go.uber.org/goleak|go.uber.org/fx/fxtest|github.com/alicebob/|$module/internal/test/testserver|$module/internal/test/limit"
status=0

# never PACKAGE PATTERN fails if the path of a dependency of the package begins with the
# pattern.
never() {
	local deps hits
	deps=$(go list -deps "./$1")
	hits=$(grep -E "^($2)" <<<"$deps" | grep -vE '^testing[^/]' || true)
	if [ -n "$hits" ]; then
		printf '%s must not depend on:\n%s\n' "$1" "$hits" >&2
		status=1
	fi
}

# standard PACKAGE [PATTERN] fails if the package depends on more than the standard library,
# this module and paths that begin with the pattern.
standard() {
	local hits
	hits=$(go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' "./$1" | grep -vE "^($module(/|\$)${2:+|$2})" || true)
	if [ -n "$hits" ]; then
		printf '%s must depend on the standard library%s only, not on:\n%s\n' "$1" "${2:+ and $2}" "$hits" >&2
		status=1
	fi
}

# only PATTERN FOLDERS fails if a package outside of the folders imports the pattern itself.
only() {
	local hits
	hits=$(go list -f '{{$from := .ImportPath}}{{range .Imports}}{{$from}} {{.}}{{"\n"}}{{end}}' ./... |
		grep -E " ($1)" | grep -vE "^$module/($2)[/ ]" || true)
	if [ -n "$hits" ]; then
		printf 'only %s may import %s:\n%s\n' "$2" "$1" "$hits" >&2
		status=1
	fi
}

# floors reads lines of folders, from the top layer down. It fails if a folder imports a
# folder of the same or a higher layer. Folders below a listed folder belong to it.
floors() {
	local list hits
	list=$(cat)
	hits=$(go list -f '{{$from := .ImportPath}}{{range .Imports}}{{$from}} {{.}}{{"\n"}}{{end}}' ./... |
		awk -v module="$module" '
			function floor(path, name) {
				for (name = path; name != ""; name = name ~ "/" ? substr(name, 1, match(name, "/[^/]*$") - 1) : "")
					if (name in floors) { folder = name; return floors[name] }
				return 0
			}
			NR == FNR { for (i = 1; i <= NF; i++) floors[$i] = FNR; next }
			sub("^" module "/?", "", $1) && sub("^" module "/?", "", $2) {
				if ($1 == "") $1 = "." # the root
				if ($2 == "") $2 = "."
				above = floor($1); from = folder; below = floor($2)
				if (!above || !below) print ($1 && above ? $2 : $1) " is missing in the list of layers"
				else if (above >= below && !(above == below && from == folder)) print $1 " imports " $2
			}' <(printf '%s\n' "$list") -)
	if [ -n "$hits" ]; then
		printf 'folders may import only folders of lower layers:\n%s\n' "$hits" >&2
		status=1
	fi
}

floors <<'END'
cmd examples internal/test
cmd/internal/cli
console metrics
idworker
gormplugin
internal/takeover
internal/migrate
providers
internal/counter dbseq/gormdb
dbseq redisseq hostseq casstore
internal/sqlnumbers internal/redisnumbers
internal/engine internal/redisconn internal/sqlconn
numbers/history numbers/ordernumber
.
lease/leasetest
internal/keeper
internal/source
internal/rules internal/findings
numbers
internal/settings
lease
internal/prefetch
internal/generator publicid
snowflake
internal/bounded internal/dsn internal/fault internal/hostclock internal/numberstore internal/option internal/test/logtest internal/test/testserver internal/schema
internal/printable internal/test/limit
END
standard snowflake
standard internal/generator
standard publicid
standard lease
standard .
standard casstore
standard hostseq
standard internal/migrate
standard internal/takeover
standard numbers
standard numbers/history
only "$gorm" 'gormplugin|idworker|providers|dbseq/gormdb|examples'
never idworker "$mysql|$postgres|$sqlite|$tests"
never console "$mysql|$postgres|$sqlite|$tests|$redis|$gorm|go.uber.org/|$module/idworker"
# snowlease.Open with a center of dbseq or redisseq: no fx, no GORM, no YAML, no cron.
standard dbseq
standard redisseq "$redis|github.com/cespare/xxhash/|go.uber.org/atomic$|golang.org/x/sys/cpu$"
never dbseq "$tests"
never dbseq/gormdb "$mysql|$postgres|$sqlite|$redis|$tests"
never redisseq "$tests"
never internal/counter "$gorm|$tests"
never internal/redisnumbers "$gorm|$tests"
never gormplugin "$mysql|$postgres|$sqlite|$redis|go.uber.org/|$tests"
never providers/sqldb "$mysql|$postgres|$sqlite|$redis|$gorm|go.uber.org/|$tests"
never providers/internal/sqlopen "$mysql|$postgres|$sqlite|$redis|$tests"
never providers/mysql "$postgres|$sqlite|$redis|$tests"
never providers/postgres "$mysql|$sqlite|$redis|$tests"
never providers/sqlite "$mysql|$postgres|$redis|$tests"
never providers/redis "$gorm|$tests"
never providers "$tests"
# snowlease-etcd links it too, without these.
never cmd/internal/cli "$mysql|$postgres|$sqlite|gorm.io/gorm/callbacks|$tests"
never cmd/snowlease "gorm.io/driver/|gorm.io/gorm/callbacks|$tests"
exit $status
