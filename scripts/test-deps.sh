#!/usr/bin/env bash
# Sees to it that the servers the tests start (MariaDB, PostgreSQL, Redis), promtool
# and a headless Chromium are installed. As root on Debian or Ubuntu it installs what is missing and starts no
# system service; elsewhere it says what to install or which variable to set. With
# CI=true a server that stays missing is a failure, whatever variables are set: the
# tests that kill servers need their own.
set -euo pipefail
shopt -s nullglob

# found PROGRAM: in PATH, or where Debian puts servers.
found() {
	command -v "$1" >/dev/null && return
	local file
	for file in /usr/sbin/"$1" /usr/lib/postgresql/*/bin/"$1"; do
		[ -x "$file" ] && return
	done
	return 1
}

# given VARIABLE: a server that is set stands in for the package.
given() { [ "${CI:-}" != true ] && [ -n "${!1:-}" ]; }

missing() {
	given SNOWLEASE_TEST_MYSQL_DSN || { found mariadbd && found mariadb-install-db; } || echo mariadb-server
	given SNOWLEASE_TEST_POSTGRES_DSN || { found postgres && found initdb; } || echo postgresql
	given SNOWLEASE_TEST_REDIS_ADDR || found redis-server || echo redis-server
	found promtool || echo prometheus
	found chromium-headless-shell || echo chromium-headless-shell
}

# install PACKAGE...: a policy-rc.d that forbids it keeps the packages' scripts from
# starting services; the one that was there comes back whatever happens.
install() (
	policy=/usr/sbin/policy-rc.d
	keep=$(mktemp -d) || exit
	restore() {
		rm -f "$policy"
		if [ -e "$keep/policy" ] || [ -L "$keep/policy" ]; then mv "$keep/policy" "$policy"; fi
		rmdir "$keep"
	}
	trap restore EXIT
	trap 'exit 130' INT TERM
	if [ -e "$policy" ] || [ -L "$policy" ]; then mv "$policy" "$keep/policy" || exit; fi
	printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" || exit

	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq || echo "test-deps: apt-get update failed, trying with the lists that are there" >&2
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
	mariadb-server) variable=SNOWLEASE_TEST_MYSQL_DSN ;;
	postgresql) variable=SNOWLEASE_TEST_POSTGRES_DSN ;;
	redis-server) variable=SNOWLEASE_TEST_REDIS_ADDR ;;
	*) variable= ;;
	esac
	echo "test-deps: $package is missing: install the package${variable:+, or set $variable to a server for tests (see compose.yaml)}" >&2
done
if [ ${#packages[@]} -gt 0 ]; then
	[ "${CI:-}" != true ] || exit 1
else
	echo "test-deps: MySQL or MariaDB, PostgreSQL, Redis, promtool and Chromium are there"
fi
