#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-descheduling.md, run as it is written.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
command -v kubectl >/dev/null || skip_all "kubectl is not installed"
[ -x "$BUILD/neapctl" ] || skip_all "neapctl is not built"
tap_start
. t/lib/docs.sh

run_document doc/tutorial-descheduling.md 12 "simulation: 4 pods leave" "belongs into the args of DefaultEvictor" \
	"2 faults; the first" "somebody wants node-0 empty"
tap_end
