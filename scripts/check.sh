#!/bin/sh
# check.sh BASE command … checks what was changed since the commit BASE, committed
# or not: the format, vet and lint of the packages with a change, the drawing of
# docs/architecture.md, and their tests, which the command runs. It is for the time
# in between; make test is what counts.
set -eu
base=$1
shift
changed=$({ git diff --name-only --diff-filter=d "$base" && git ls-files --others --exclude-standard; } | sort -u)
packages=$(
	for file in $changed; do
		dir=$(dirname "$file")
		# A change below testdata, or of a script in a package, is of the package above.
		while [ "$dir" != . ] && { [ "${dir##*/testdata*}" != "$dir" ] || ! ls "$dir"/*.go >/dev/null 2>&1; }; do
			dir=$(dirname "$dir")
		done
		[ "$dir" = . ] || echo "./$dir"
	done | sort -u
)
if [ -z "$packages" ]; then
	echo "check.sh: no package has a change since $base"
	exit 0
fi
out=$($LINT fmt --diff)
[ -z "$out" ] || { echo "$out"; echo 'make fmt mends the format'; exit 1; }
export CGO_ENABLED=0
# shellcheck disable=SC2086 # a list
{
	GOFLAGS="$($GO env GOFLAGS) -trimpath" $GO vet $packages
	GOFLAGS="$($GO env GOFLAGS) -trimpath" $LINT run $packages
	CGO_ENABLED=1 "$@" $packages ./docs
}
