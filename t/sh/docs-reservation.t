#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-reservation.md, run as it is written: both stories of the manual, and what
# reservations are for.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
command -v kubectl >/dev/null || skip_all "kubectl is not installed"
[ -x "$BUILD/neapctl" ] || skip_all "neapctl is not built"
tap_start
. t/lib/docs.sh

run_document doc/tutorial-reservation.md 70
compare_document doc/tutorial-reservation.md
tap_end
