#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The other half of t/sh/kubectl.t: nodes, access, watching, what is wrong, Koordinator's
# kinds, kinds of one's own.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/kubectl.sh
kubectl_need
tap_start

kubectl_all 40-nodes 46-access 50-watch 60-bad 70-koordinator 80-crd
tap_end
