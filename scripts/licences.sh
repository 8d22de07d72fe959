#!/bin/sh
# licences.sh writes the licences of all modules that the program contains to standard
# output. Who hands on the binary has to hand them on, too. It fails if one has none.
set -eu
GO=${GO:-go}
modules=$(CGO_ENABLED=0 $GO list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/parley)
echo "$modules" | sort -u |
	while read -r module version dir; do
		found=$(find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
		[ -n "$found" ] || { echo "licences.sh: $module $version has no licence in $dir" >&2; exit 1; }
		for file in $found; do
			printf '==== %s %s: %s\n\n' "$module" "$version" "${file##*/}"
			cat "$file"
			echo
		done
	done
printf '==== Go, its standard library and runtime: LICENSE\n\n'
cat "$($GO env GOROOT)/LICENSE"
