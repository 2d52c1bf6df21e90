#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapd as the scheduler of a cluster whose server is a second neapd, over TLS: what
# t/peers/cluster.t asks of a real kube-apiserver.
#
# Runs beside others.
SERVER=neap exec "$(dirname "$0")/../peers/cluster.t"
