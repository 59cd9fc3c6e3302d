#!/usr/bin/env bash
# Holds what depguard cannot see, since it looks at direct imports only: what a
# program links when it imports a package of this module.
set -euo pipefail
cd "$(dirname "$0")/.."

module=$(go list -m)
mysql='github.com/go-sql-driver/|gorm.io/driver/mysql'
postgres='github.com/jackc/|github.com/lib/pq|gorm.io/driver/postgres'
sqlite='modernc.org/|github.com/libtnb/|github.com/glebarez/|github.com/ncruces/go-sqlite3|github.com/mattn/go-sqlite3|gorm.io/driver/sqlite'
redis='github.com/redis/'
gorm='gorm.io/'
tests="testing|github.com/stretchr/|go.uber.org/goleak|go.uber.org/fx/fxtest|github.com/alicebob/|$module/internal/testserver"
status=0

# never PACKAGE PATTERN: no dependency of the package begins with the pattern
# (as whole path elements).
never() {
	local deps hits
	deps=$(go list -deps "./$1")
	hits=$(grep -E "^($2)" <<<"$deps" | grep -vE '^testing[^/]' || true)
	if [ -n "$hits" ]; then
		printf '%s must not depend on:\n%s\n' "$1" "$hits" >&2
		status=1
	fi
}

# standard PACKAGE: it depends on the standard library and this module only.
standard() {
	local hits
	hits=$(go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' "./$1" | grep -v "^$module/" || true)
	if [ -n "$hits" ]; then
		printf '%s must depend on the standard library only, not on:\n%s\n' "$1" "$hits" >&2
		status=1
	fi
}

standard idworker/snowflake
standard idworker/lease
standard idworker/lease/casstore
standard idworker/local
standard idworker/migrate
standard idworker/migrate/takeover
standard idworker/segment
standard idworker/history
never idworker "$mysql|$postgres|$sqlite|$tests"
never idworker/console "$mysql|$postgres|$sqlite|$tests"
never dbseq "$mysql|$postgres|$sqlite|$redis|$tests"
never redisseq "$gorm|$tests"
never gormplugin "$mysql|$postgres|$sqlite|$redis|$tests"
never providers/sqldb "$mysql|$postgres|$sqlite|$redis|$tests"
never providers/mysql "$postgres|$sqlite|$redis|$tests"
never providers/postgres "$mysql|$sqlite|$redis|$tests"
never providers/sqlite "$mysql|$postgres|$redis|$tests"
never providers/redis "$gorm|$tests"
never providers "$tests"
exit $status
