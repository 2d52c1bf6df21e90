#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What `make run` does: starts neapd from the tree on this machine, in the foreground. As
# root with full effect (the loop itself runs as user "neap", made here when missing); as
# anybody else neapd only watches, with its files below the user's own directories. usage:
# t/run.sh BUILD [option of neapd]...
set -eu
build=${1:?usage: t/run.sh BUILD [option of neapd]...}
shift
case $build in /*) ;; *) build=$PWD/$build ;; esac
share=$(cd "$(dirname "$0")/.." && pwd)

if [ ! -x "$build/neapd" ]; then
	echo "run: no $build/neapd; build it with: make all" >&2
	exit 1
fi
if [ "$(id -u)" = 0 ]; then
	if ! getent passwd neap >/dev/null; then
		echo "run: making the system user 'neap' for neapd's loop"
		useradd --system --no-create-home --shell /usr/sbin/nologin neap
	fi
	case " $* " in
	*" --run-pods-user neap-pods "*)
		if ! getent passwd neap-pods >/dev/null; then
			echo "run: making the system user 'neap-pods', as whom pods run"
			useradd --system --no-create-home --shell /usr/sbin/nologin neap-pods
		fi
		;;
	esac
	exec "$build/neapd" --share-dir "$share" "$@"
fi

state=${XDG_RUNTIME_DIR:-}
if [ -n "$state" ] && [ -d "$state" ] && [ -w "$state" ]; then
	state=$state/neap
else
	state=$build/state
fi
mkdir -p "$state/run" "$state/data"
chmod 700 "$state" "$state/run" "$state/data"
echo "run: not root, so neapd only watches and changes nothing; its files: $state"
exec "$build/neapd" --share-dir "$share" --run-dir "$state/run" --data-dir "$state/data" "$@"
