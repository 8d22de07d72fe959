#!/bin/sh
# After the files went. The state in /var/lib/parley, which people's conversations and the
# ledger are, is left, and so are the user, the credentials and a changed configuration.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
