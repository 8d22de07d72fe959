#!/bin/sh
# packages.sh builds the packages of nfpm.yaml into .bin/packages, for this machine or, with
# GOARCH, for another processor. The version is that of the commit, as Go puts it into the
# program; a release is a commit with a tag such as v1.2.3.
set -eu
GO=${GO:-go}
NFPM_VERSION=${NFPM_VERSION:?which nfpm; the Makefile names it}
out=.bin/packages
root=$out/root
rm -rf "$out"
mkdir -p "$root/man"

# The one that writes pages and completions runs here, whatever the package is for.
here=$root/here
CGO_ENABLED=0 GOOS= GOARCH= $GO build -trimpath -buildvcs=true -ldflags '-s -w' -o "$here" ./cmd/parley
CGO_ENABLED=0 GOOS=linux $GO build -trimpath -buildvcs=true -ldflags '-s -w' -o "$root/parley" ./cmd/parley

# The same commit gives the same pages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
"$here" man "$root/man"
gzip -n -9 "$root"/man/*.1
for shell in bash zsh fish; do
	"$here" completion "$shell" >"$root/parley.$shell"
done
sh scripts/licences.sh >"$root/THIRD-PARTY-LICENSES"

VERSION=$("$here" version --json | sed 's/.*"version":"\([^"]*\)".*/\1/')
ARCH=$($GO env GOARCH)
export VERSION ARCH
for packager in deb rpm; do
	GOOS= GOARCH= GOFLAGS=-trimpath $GO run "github.com/goreleaser/nfpm/v2/cmd/nfpm@$NFPM_VERSION" package --config deploy/packages/nfpm.yaml --packager "$packager" --target "$out"
done
rm -rf "$root"
