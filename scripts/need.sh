#!/bin/sh
# need.sh command:package … makes sure that each command is there: installs the
# Debian package where that is possible, and otherwise says what to install and
# fails. Nothing that a test needs is ever skipped silently.
set -eu
missing=""
for pair in "$@"; do
	command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing$missing"
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2086 # a list
	apt-get install -y -q --no-install-recommends $missing >/dev/null 2>&1 ||
		{ apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends $missing >/dev/null; }
fi
for pair in "$@"; do
	command -v "${pair%%:*}" >/dev/null 2>&1 || {
		echo "need.sh: the command ${pair%%:*} is missing and could not be installed: install the package ${pair##*:} (Debian: apt-get install ${pair##*:})" >&2
		exit 1
	}
done
