#!/usr/bin/env bash
# rough.sh load command …    runs a command beside eight busy loops
# rough.sh freeze command …  stops the command's whole process group for 5 s every
#                            20 s and lets it go on, as a machine that is suspended or
#                            starved does
# It ends with the command's exit status. Nothing that a test holds may depend on how
# fast the machine is: this is how to see that.
set -uo pipefail
mode=$1
shift
beside=()
# shellcheck disable=SC2329 # by the trap
tidy() {
	for pid in "${beside[@]}"; do kill -KILL -- "-$pid" 2>/dev/null; done
	if [ -n "${tests:-}" ]; then
		kill -CONT -- "-$tests" 2>/dev/null
		kill -TERM -- "-$tests" 2>/dev/null
	fi
}
trap tidy EXIT
trap 'exit 130' INT TERM
case $mode in
load)
	for _ in 1 2 3 4 5 6 7 8; do
		setsid sh -c 'while :; do :; done' &
		beside+=($!)
	done
	setsid "$@" </dev/null &
	tests=$!
	;;
freeze)
	setsid "$@" </dev/null &
	tests=$!
	setsid sh -c "while sleep 15 && kill -STOP -$tests && sleep 5 && kill -CONT -$tests; do :; done" 2>/dev/null &
	beside+=($!)
	;;
*)
	echo "rough.sh: $mode is neither load nor freeze" >&2
	exit 2
	;;
esac
wait "$tests"
rc=$?
tests=
exit "$rc"
