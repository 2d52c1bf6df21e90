#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The files of a kubelet that only root may read: the hand opens them for the loop, just
# these, and what is told of the node follows them. With SERVER (t/lib/server.sh) it is
# told another server.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/server.sh
need_cgroups
server_need
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start

DIR=$WORK/kubelet
REPORT=/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies/here
report() { server_api GET "$REPORT" | tr -d '\n'; }
tells() { has "$(report)" "$1"; }
# As a kubelet writes: anew, then renamed into place.
put() { cat >"$DIR/$1.new" && chmod 600 "$DIR/$1.new" && mv "$DIR/$1.new" "$DIR/$1"; }
state() { echo '{"policyName":"static","defaultCpuSet":"0","entries":{"'"$1"'":{"c":"0"}},"checksum":1}' | put cpu_manager_state; }
logged() { grep -q "$1" "$WORK/neapd.log"; }

mkdir -m 700 "$DIR"
state u-1
printf 'kind: KubeletConfiguration\ntopologyManagerPolicy: restricted\n' | put config.yaml
check "its folder is root's alone" not setpriv --reuid nobody --clear-groups cat "$DIR/config.yaml"
check "the server of its objects" server_start || tap_end
is_own || server_node here
check "neapd" neapd_start --node-name here --policy none --kubelet-dir "$DIR"
check "what it gave to pods is told" eventually 30 tells '\"uid\":\"u-1\"'
check "its CPU manager" tells '\"policy\":\"static\"'
check "its topology manager" tells '"Restricted"'
state u-2
check "a new file counts" eventually 30 tells '\"uid\":\"u-2\"'
check "nothing is wrong" not logged 'kubelet in'

ln -s /etc/shadow "$DIR/link"
mv "$DIR/link" "$DIR/cpu_manager_state"
check "a link is not followed" eventually 30 logged "kubelet in $DIR: cpu_manager_state: Too many levels"
check "what was read last counts" tells '\"uid\":\"u-2\"'
mkfifo -m 600 "$DIR/pipe"
mv "$DIR/pipe" "$DIR/config.yaml"
state u-3
check "a pipe beside it holds nothing up" eventually 30 tells '\"uid\":\"u-3\"'
check "what was read last of that counts" tells '"Restricted"'
rm "$DIR/config.yaml" "$DIR/cpu_manager_state"
check "without files there is no kubelet" eventually 30 tells '"None"'
check "and all is well" eventually 30 logged "the kubelet's files can be read again"
state u-4
check "until it comes back" eventually 30 tells '\"uid\":\"u-4\"'
neapd_end TERM

# A dry run shows what would be done with what the kubelet gave away; its hand does
# nothing else.
check "a dry run" neapd_start --node-name here --policy none --kubelet-dir "$DIR" --dry-run --run-dir "$WORK/dry"
check "it knows the files, too" eventually 30 tells '\"uid\":\"u-4\"'
state u-5
check "and those that come" eventually 30 tells '\"uid\":\"u-5\"'
status() { has "$(neapctl status)" "$1"; }
check "it writes nothing" status dry-run
freeze_fails() { has "$(neapctl freeze 2>&1)" "only watches"; }
check "nor may its hand be asked to" freeze_fails
check "it has no journal" not test -e "$WORK/dry/hand.journal"
check "its start says so" grep -q 'acting    no: dry-run' "$WORK/neapd.out"
neapd_end TERM
tap_end
