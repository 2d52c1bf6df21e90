#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Three nodes on the objects of a second neapd, over TLS: what t/peers/three-nodes.t asks
# of a real kube-apiserver.
#
# Runs beside others.
SERVER=neap exec "$(dirname "$0")/../peers/three-nodes.t"
