#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapctl install-crds at a neapd: what t/peers/install-crds.t asks of a kube-apiserver.
SERVER=neap exec "$(dirname "$0")/../peers/install-crds.t"
