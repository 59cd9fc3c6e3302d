#!/usr/bin/env bash
# Usage: scripts/engines.sh ENGINE...
#
# Unpacks current database servers into .tools/engines/ENGINE, where they run next to the
# machine's own and change nothing on it: mysql, mariadb, postgres, redis, valkey, etcd. The
# packages and all their libraries come from Debian's unstable suite, otherwise from testing,
# through the machine's apt sources and keys. Any user may run it. It replaces nothing.
#
# ENGINE/bin has the programs, ENGINE/version the package, its version and checksum. If an
# engine cannot be had, ENGINE/unavailable has the reason, and the exit status is 3.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."

engines=$PWD/.tools/engines

declare -A packages=(
	[mysql]="mysql-server-core"
	[mariadb]="mariadb-server-core mariadb-client-core"
	[postgres]="postgresql"
	[redis]="redis-server redis-tools"
	[valkey]="valkey-server valkey-tools"
	[etcd]="etcd-server etcd-client"
)

# The file names of the server's package, and of the programs below usr.
declare -A servers=(
	[mysql]="mysql-server-core_*"
	[mariadb]="mariadb-server-core_*"
	[postgres]="postgresql-[0-9][0-9]_*"
	[redis]="redis-server_*"
	[valkey]="valkey-server_*"
	[etcd]="etcd-server_*"
)
declare -A programs=(
	[mysql]="sbin/mysqld"
	[mariadb]="sbin/mariadbd bin/mariadb-install-db bin/my_print_defaults bin/resolveip"
	[postgres]="lib/postgresql/*/bin/initdb lib/postgresql/*/bin/postgres"
	[redis]="bin/redis-server"
	[valkey]="bin/valkey-server"
	[etcd]="bin/etcd bin/etcdctl bin/etcdutl"
)

# An apt of its own: its lists, cache and package status are in $work/SUITE.
apt() {
	local state=$work/$1
	shift
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	touch "$state/status"
	apt-get -qq -o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache" \
		-o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" -o APT::Install-Recommends=false -o Dpkg::Use-Pty=0 \
		-o Acquire::Languages=none -o Acquire::Retries=3 -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@" </dev/null
}

# archive prints the address of the Debian archive among the machine's apt sources.
archive() {
	apt machine update >&2 || true
	apt machine indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 'Component: main' | head -n 1
}

# download SUITE PACKAGE... downloads packages with everything that they depend on.
download() {
	local suite=$1 state=$work/$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg
	shift
	if [ ! -e "$state/debian.sources" ]; then
		mkdir -p "$state"
		printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$uri" "$suite" >"$state/debian.sources"
		[ ! -e $keys ] || echo "Signed-By: $keys" >>"$state/debian.sources"
	fi
	local own=(-o Dir::Etc::sourcelist="$state/debian.sources" -o Dir::Etc::sourceparts=-)
	rm -f "$state/cache/archives/"*.deb
	apt "$suite" "${own[@]}" update && apt "$suite" "${own[@]}" --download-only -y install base-files "$@"
}

# unpack ENGINE DIR SUITE unpacks the downloaded packages.
unpack() {
	local root=$2/root deb file
	mkdir -p "$root" "$2/bin"
	# base-files first: it makes lib a link to usr/lib.
	for deb in "$work/$3"/cache/archives/{base-files_,}*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --no-same-owner --keep-directory-symlink --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./dev/*'
	done
	# shellcheck disable=SC2086 # several programs
	for file in $(cd "$root/usr" && ls ${programs[$1]}); do
		file=usr/$file
		wrap "$root" "$file"
		ln -s "../root/$file" "$2/bin/"
	done
	[ "$1" != valkey ] || ln -s valkey-server "$2/bin/redis-server"
}

# wrap ROOT FILE replaces a program by a script that starts it with its own libraries. So programs find one another and their data in the folder.
wrap() {
	local start='"$self.real" "$@"'
	if [ "$(head -c 4 "$1/$2")" = $'\x7fELF' ]; then
		start="\"\$root/$(cd "$1" && echo usr/lib/*/ld-linux*.so.*)\" --argv0 \"\$self\" --library-path \"\$root/$(cd "$1" && dirname usr/lib/*/libc.so.6)\" $start"
	fi
	[[ $2 != *mariadb* ]] || start+=' --basedir="$root/usr"'
	mv "$1/$2" "$1/$2.real"
	cat >"$1/$2" <<-END
		#!/bin/sh
		self=\$(readlink -f "\$0")
		root=\${self%/$2}
		exec $start
	END
	chmod +x "$1/$2"
}

# get ENGINE makes .tools/engines/ENGINE.
get() {
	local new=$engines/$1.new suite deb
	for suite in sid testing; do
		rm -rf "$new"
		mkdir -p "$new"
		# shellcheck disable=SC2086 # several packages
		if [ -n "$uri" ] && download "$suite" ${packages[$1]}; then
			unpack "$1" "$new" "$suite"
			deb=$(compgen -G "$work/$suite/cache/archives/${servers[$1]}.deb" | head -n 1)
			echo "$(dpkg-deb -W --showformat='${Package} ${Version}' "$deb") from Debian $suite, SHA-256 $(sha256sum "$deb" | cut -d' ' -f1)" >"$new/version"
			break
		fi
	done
	if [ ! -e "$new/version" ]; then
		rm -rf "$new"
		mkdir -p "$new"
		local why="neither Debian's sid nor testing had it on $(date -u +%F)"
		[ -n "$uri" ] || why="this machine's apt sources name no Debian archive"
		echo "no ${packages[$1]%% *}: $why" >"$new/unavailable"
	fi
	rm -rf "${engines:?}/$1"
	mv "$new" "$engines/$1"
}

status=0
for engine in "$@"; do
	if [ -z "${packages[$engine]:-}" ]; then
		echo "engines: $engine is not one of ${!packages[*]}" >&2
		exit 2
	fi
	if [ ! -e "$engines/$engine/version" ]; then
		if [ -z "${work:-}" ]; then
			mkdir -p "$engines"
			work=$(mktemp -d)
			trap 'rm -rf "$work"' EXIT
			uri=
			! command -v apt-get dpkg-deb >/dev/null || uri=$(archive)
		fi
		get "$engine" >&2
	fi
	if [ -e "$engines/$engine/version" ]; then
		echo "engines: $(cat "$engines/$engine/version")"
	else
		echo "engines: $(cat "$engines/$engine/unavailable")" >&2
		status=3
	fi
done
exit $status
