#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-laptop.md, run as it is written: what is deployed with kubectl runs here.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
pods_need
[ -x "$BUILD/t/demo/ls_server" ] || skip_all "the programs of the demo are not built"
tap_start
. t/lib/docs.sh

run_document doc/tutorial-laptop.md 35 'hello from daemon' 'deployment "web" successfully rolled out' 'ready 6400' \
	'pod/batch-' 'evicted' 'FailedScheduling' 'uncordoned' 'it does not come up' 'still the same process' \
	'No resources found'
tap_end
