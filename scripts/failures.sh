#!/usr/bin/env bash
# failures.sh command … runs a command that prints what go test prints. When it
# fails, what failed is said again at the end, a line each, without the logs in
# between: the end is what one sees of a long output.
set -uo pipefail
seen=$(mktemp) || exit 1
trap 'rm -f "$seen"' EXIT
"$@" 2>&1 | tee "$seen"
rc=${PIPESTATUS[0]}
if [ "$rc" != 0 ]; then
	echo
	echo 'what failed:'
	grep -E '^ *--- FAIL|^FAIL|^panic:|^fatal error:|DATA RACE|^ +[a-zA-Z0-9_]+\.go:[0-9]+: ' "$seen" | cut -c1-400 | tail -n 200
fi
exit "$rc"
