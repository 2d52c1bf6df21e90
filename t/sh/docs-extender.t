#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-extender.md, run as it is written: curl asks what a kube-scheduler asks.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
for tool in kubectl curl openssl; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
tap_start
. t/lib/docs.sh

GIVEN='' run_document doc/tutorial-extender.md 45 '"NodeNames":["node-0","node-2"]' '"node-1":"Insufficient cpu"' \
	'[{"Host":"node-0","Score":0},{"Host":"node-2","Score":10}]' 'CN=somebody is reader here, and this needs editor' \
	'node-2 {"cpuset":"0"}' 'default/px1, LSR, CPUs 0' '{"Error":"pod default/px1 is on node node-2"}' \
	'{"NodeNameToMetaVictims":{"node-2":{"Pods":[{"UID":"'
tap_end
