#!/bin/sh
# After the files are there, at an installation and at an upgrade: makes the user and says
# what is to be done. The service is neither enabled nor started before it is configured; one
# that runs is started again as the new version.
set -e

if ! getent passwd parley >/dev/null; then
	if command -v systemd-sysusers >/dev/null 2>&1; then
		systemd-sysusers /usr/lib/sysusers.d/parley.conf
	else
		getent group parley >/dev/null || groupadd --system parley
		useradd --system --gid parley --home-dir /var/lib/parley --no-create-home --shell /usr/sbin/nologin parley
	fi
fi
# The service reads its configuration, and nobody else but root. Who has another one may have
# removed this.
if [ -f /etc/parley/parley.yaml ]; then
	chown root:parley /etc/parley/parley.yaml
	chmod 0640 /etc/parley/parley.yaml
fi

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	if systemctl is-active --quiet parley.service; then
		# It may refuse the configuration, as one of an earlier version. The package is
		# installed all the same: a script that fails would leave it half configured.
		if ! systemctl restart parley.service; then
			echo "parley is installed, and does not run: the new version does not start with /etc/parley/parley.yaml." >&2
			echo "See: journalctl -u parley; then: systemctl restart parley" >&2
		fi
		exit 0
	fi
	if systemctl is-enabled --quiet parley.service; then
		exit 0
	fi
fi
cat <<'END'
parley is installed, and not running yet:
  1. put the bot's token into /etc/parley/credentials/telegram_token
     and the model's key into /etc/parley/credentials/anthropic_key
  2. say in /etc/parley/parley.yaml who may talk to the bot
  3. systemctl enable --now parley
  4. parley status --config /etc/parley/parley.yaml
END
