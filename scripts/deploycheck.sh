#!/bin/sh
# deploycheck.sh has each file of deploy/ read by the program that it is for, or by that
# program's own code: the unit by systemd, the Compose file by Compose's reader, the objects
# by kustomize and the types of the API server, the packages by dpkg and rpm. (Prometheus'
# files are looked at by make monitoring.)
set -eu
GO=${GO:-go}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sh scripts/need.sh systemd-analyze:systemd dpkg-deb:dpkg rpm:rpm

# The unit names a program that is not installed here, and man may not be.
CGO_ENABLED=0 $GO build -trimpath -o "$work/parley" ./cmd/parley
sed "s|/usr/bin/parley|$work/parley|g" deploy/systemd/parley.service >"$work/parley.service"
systemd-analyze verify --man=no "$work/parley.service"
# 0 is nothing to reach, 100 everything; below 40 systemd says OK.
systemd-analyze security --offline=true --threshold=30 "$work/parley.service" >/dev/null

GOFLAGS=-trimpath $GO run "github.com/compose-spec/compose-go/v2/cmd@${COMPOSE_VERSION:?}" deploy/compose/compose.yaml >/dev/null
echo "deploy/compose: read"

for folder in deploy/kubernetes/*/; do
	GOFLAGS=-trimpath $GO run "sigs.k8s.io/kustomize/kustomize/v5@${KUSTOMIZE_VERSION:?}" build "$folder" >"$work/objects.yaml"
	echo "$folder"
	GOFLAGS=-trimpath $GO run -C scripts/kinds . <"$work/objects.yaml"
done

sh scripts/packages.sh
dpkg-deb --info .bin/packages/*.deb >/dev/null
dpkg-deb --contents .bin/packages/*.deb | grep ' \./usr/bin/parley$' >/dev/null
rpm --query --package --list .bin/packages/*.rpm | grep '^/usr/bin/parley$' >/dev/null
echo "deploy/packages: built and read"
