#!/bin/sh
# Before the files go: ends the service at a removal, and not at an upgrade, where the new
# version restarts it. Debian says "remove", RPM how many versions will be left.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now parley.service
	fi
	;;
esac
