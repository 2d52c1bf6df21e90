#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# t/peers/cluster.t on a real kube-apiserver that looks like later versions
# (t/peers/newer.py). PROFILES: which ones.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
SERVER=real
. t/lib/server.sh
server_need
command -v python3 >/dev/null || skip_all "python3 is not installed"
need_long
tap_start
for version in ${PROFILES:-1.22 1.25 1.32 1.35}; do include "$version" env PROFILE="$version" t/peers/cluster.t; done
tap_end
