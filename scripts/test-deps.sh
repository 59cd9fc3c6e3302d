#!/usr/bin/env bash
# Usage: scripts/test-deps.sh [prove]
#
# Checks that the servers which make test starts are installed: MariaDB, PostgreSQL and Redis.
# With prove, also etcd, PgBouncer, HAProxy, promtool and a headless Chromium. As root
# on Debian or Ubuntu it installs missing ones and starts no system service. Elsewhere it says
# what to install or which variable to set. For prove, a MySQL is unpacked by
# scripts/engines.sh, unless the machine has one. Tests run without it if it cannot be had.
#
# With CI=true a missing server is a failure even if a variable names another one, since the
# tests that kill servers need their own.
set -euo pipefail
shopt -s nullglob

target=${1:-test}

# found PROGRAM reports whether the program is in PATH, or where Debian installs servers.
found() {
	command -v "$1" >/dev/null && return
	local file
	for file in /usr/sbin/"$1" /usr/lib/postgresql/*/bin/"$1"; do
		[ -x "$file" ] && return
	done
	return 1
}

# given VARIABLE reports whether the variable names a server that replaces the package.
given() { [ "${CI:-}" != true ] && [ -n "${!1:-}" ]; }

missing() {
	given SNOWLEASE_TEST_MARIADB_DSN || { found mariadbd && found mariadb-install-db; } || echo mariadb-server
	given SNOWLEASE_TEST_POSTGRES_DSN || { found postgres && found initdb; } || echo postgresql
	given SNOWLEASE_TEST_REDIS_ADDR || found redis-server || echo redis-server
	[ "$target" = prove ] || return 0
	found etcd || echo etcd-server
	found etcdctl || echo etcd-client
	found pgbouncer || echo pgbouncer
	found haproxy || echo haproxy
	found promtool || echo prometheus
	found chromium-headless-shell || echo chromium-headless-shell
}

# install PACKAGE... installs packages, while a policy-rc.d keeps their scripts from starting
# services. It then restores the previous one in any case.
install() (
	policy=/usr/sbin/policy-rc.d
	keep=$(mktemp -d) || exit
	restore() {
		rm -f "$policy"
		if [ -e "$keep/policy" ] || [ -L "$keep/policy" ]; then mv "$keep/policy" "$policy"; fi
		rmdir "$keep"
	}
	if [ -e "$policy" ] || [ -L "$policy" ]; then mv "$policy" "$keep/policy" || exit; fi
	trap restore EXIT
	trap 'exit 130' INT TERM
	printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" || exit

	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq || echo "test-deps: apt-get update failed; trying with the present lists" >&2
	apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@" </dev/null
)

mapfile -t packages < <(missing)
if [ ${#packages[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "test-deps: installing ${packages[*]}"
	install "${packages[@]}" >&2 || echo "test-deps: apt-get could not install ${packages[*]}" >&2
	hash -r
	mapfile -t packages < <(missing)
fi

for package in "${packages[@]}"; do
	case $package in
	mariadb-server) variable=SNOWLEASE_TEST_MARIADB_DSN ;;
	postgresql) variable=SNOWLEASE_TEST_POSTGRES_DSN ;;
	redis-server) variable=SNOWLEASE_TEST_REDIS_ADDR ;;
	*) variable= ;;
	esac
	echo "test-deps: $package is missing; install the package${variable:+, or set $variable to a server for tests (see compose.yaml)}" >&2
done
if [ ${#packages[@]} -gt 0 ]; then
	[ "${CI:-}" != true ] || exit 1
else
	echo "test-deps: what make $target starts is installed"
fi

# Debian's MariaDB installs itself as mysqld too.
if [ "$target" = prove ] && ! given SNOWLEASE_TEST_MYSQL_DSN && ! { found mysqld && ! found mariadbd; }; then
	"$(dirname "$0")/engines.sh" mysql || [ $? = 3 ]
fi
