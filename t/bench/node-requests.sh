#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make bench-node`, second part: what the role node asks of a kube-apiserver in a minute,
# beside the real kubelet of the same node (t/node/lib.sh), which has the server, too.
# Requests are counted in the server's audit log, each watch once; bytes are those of the
# connections, both ways. MINUTES=2 after SETTLE=60 seconds.
# Needs root, cgroup v1 and the parts of `make peers`; else it says why not.
# shellcheck disable=SC2016  # awk has fields
cd "$(dirname "$0")/../.." || exit 1
. t/node/lib.sh
minutes=${MINUTES:-2} settle=${SETTLE:-60}
need_node
need_peers etcd kube-apiserver kubectl
for tool in jq openssl ss; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
node_start

export REAL_USERS='kubelet neap-node'
cat >"$WORK/audit.yaml" <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
YAML
check "a kube-apiserver" real_api_start 16443 --audit-policy-file "$WORK/audit.yaml" --audit-log-path "$WORK/audit.log" || tap_end
# Of the pods that the kubelet has from files; else it tries to name them there for ever.
"$PEER_BIN/kubectl" --kubeconfig "$REAL_CONFIG" create namespace shop >/dev/null
for user in $REAL_USERS; do kubeconfig_write "$WORK/$user.config" "$REAL_URL" "$user-token" "$REAL_CA"; done
check "the definitions" "$BUILD/neapctl" install-crds --kubeconfig "$REAL_CONFIG"
check "a kubelet with that server" kubelet_start none --kubeconfig "$WORK/kubelet.config" || tap_end
for i in 1 2 3; do pod "p$i" - sleep 1000000; done
check "pods run" eventually 30 pod_runs p3
neapd_here()
{
	neapd_start --kubepods auto --kubelet-dir "$KUBELET" --node-name node --roles node --kubeconfig "$WORK/neap-node.config"
}
check "neapd with that server" neapd_here || tap_end
has_metric() { "$PEER_BIN/kubectl" --kubeconfig "$REAL_CONFIG" get nodemetrics.slo.koordinator.sh node; }
check "it writes its NodeMetric" eventually 60 has_metric

# bytes_of PID: sent and received by its connections to the server.
bytes_of()
{
	ss -tinpH "dport = :16443" | awk -v pid="pid=$1," '
		/^[A-Z]/ { mine = index($0, pid) }
		mine && match($0, /bytes_sent:[0-9]+/) { sum += substr($0, RSTART + 11, RLENGTH - 11) }
		mine && match($0, /bytes_received:[0-9]+/) { sum += substr($0, RSTART + 15, RLENGTH - 15) }
		END { printf "%.0f\n", sum }'
}
sleep "$settle"
from=$(date -u +%Y-%m-%dT%H:%M:%S)
kubelet_bytes=$(bytes_of "$PEER_PID_kubelet") neapd_bytes=$(bytes_of "$NEAPD_PID")
sleep $((minutes * 60))
kubelet_bytes=$(($(bytes_of "$PEER_PID_kubelet") - kubelet_bytes)) neapd_bytes=$(($(bytes_of "$NEAPD_PID") - neapd_bytes))
to=$(date -u +%Y-%m-%dT%H:%M:%S)

# requests_of USER: in the time between.
requests_of()
{
	jq -r --arg user "$1" --arg from "$from" --arg to "$to" 'select(.user.username == $user and
		.requestReceivedTimestamp >= $from and .requestReceivedTimestamp < $to) |
		"\(.verb) \(.objectRef.resource // .requestURI)"' "$WORK/audit.log" | sort | uniq -c | sort -rn
}
for user in $REAL_USERS; do
	requests_of "$user" >"$WORK/$user.requests"
	awk -v user="$user" -v minutes="$minutes" '{ sum += $1; what = what (NR > 1 ? ", " : "") $1 " " $2 " " $3 }
		END { printf "# %s: %.1f requests a minute (%s)\n", user, sum / minutes, what }' "$WORK/$user.requests"
done
sum_of() { awk '{ sum += $1 } END { print sum + 0 }' "$WORK/$1.requests"; }
echo "# bytes a minute: kubelet $((kubelet_bytes / minutes)), neapd $((neapd_bytes / minutes))"
check "neapd asks" test "$(sum_of neap-node)" -gt 0
check "... no more often than the kubelet" test "$(sum_of neap-node)" -le "$(sum_of kubelet)"
check "... and no more bytes go" test "$neapd_bytes" -le "$kubelet_bytes"
neapd_end TERM
tap_end
