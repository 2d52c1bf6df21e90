#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The short form of t/soak/watchers.sh: a small crowd for some seconds. WATCHERS_SECONDS
# for longer.
cd "$(dirname "$0")/../.." || exit 1
WATCHERS=${WATCHERS:-100} OBJECTS=${OBJECTS:-500} SOAK_SECONDS=${WATCHERS_SECONDS:-3} QUIET_SECONDS=0 \
	exec t/soak/watchers.sh
