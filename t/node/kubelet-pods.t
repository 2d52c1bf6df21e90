#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The node role with the pods of a real kubelet (--kubelet), without any API server: over
# HTTPS with a client certificate, which the kubelet asks for.
cd "$(dirname "$0")/../.." || exit 1
. t/node/lib.sh
need_node
command -v openssl >/dev/null || skip_all "openssl is not installed"
B=${ALL##*[-,]}
[ "$(nproc --all)" -eq 2 ] || skip_all "needs two CPUs: a kubelet with more gives out others"
node_start

# certificate CA NAME USAGE [SAN]: CA.crt makes NAME.crt, NAME.key.
authority() { openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout "$WORK/$1.key" -out "$WORK/$1.crt"; }
certificate()
{
	openssl req -newkey rsa:2048 -nodes -subj "/CN=$2" -keyout "$WORK/$2.key" -out "$WORK/$2.csr" &&
		openssl x509 -req -in "$WORK/$2.csr" -CA "$WORK/$1.crt" -CAkey "$WORK/$1.key" -CAcreateserial -days 2 \
			-extfile <(echo "extendedKeyUsage=$3"; [ -z "${4:-}" ] || echo "subjectAltName=$4") -out "$WORK/$2.crt"
}
certificates()
{
	authority ca && authority other && certificate ca kubelet serverAuth IP:127.0.0.1 &&
		certificate ca neap clientAuth && certificate other stranger clientAuth
}
check "certificates" certificates
export KUBELET_ANONYMOUS=false
kubelet_here()
{
	kubelet_start none --client-ca-file "$WORK/ca.crt" --tls-cert-file "$WORK/kubelet.crt" --tls-private-key-file "$WORK/kubelet.key"
}
check "a kubelet that wants to know who asks" kubelet_here || { tail -n 20 "$WORK/kubelet.log" | sed 's/^/# /'; tap_end; }

# neap NAME: with the certificate of that name.
neap()
{
	neapd_start --kubepods auto --kubelet-dir "$KUBELET" --node-name node --roles node --policy none \
		--kubelet https://127.0.0.1:10250 --kubelet-certificate-authority "$WORK/ca.crt" --kubelet-sync-interval 500ms \
		--kubelet-client-certificate "$WORK/$1.crt" --kubelet-client-key "$WORK/$1.key"
}
says() { grep -q "$1" "$WORK/neapd.log"; }
on_cpus() { is "$(pod_cpus "$1")" "$2"; }
# with_cpus NAME CPUS: as the scheduler wrote it.
with_cpus()
{
	cat >"$WORK/pod.new" <<-EOF
	apiVersion: v1
	kind: Pod
	metadata:
	  name: $1
	  namespace: shop
	  labels: {koordinator.sh/qosClass: LSR}
	  annotations: {scheduling.koordinator.sh/resource-status: '{"cpuset": "$2"}'}
	spec:
	  hostNetwork: true
	  terminationGracePeriodSeconds: 1
	  containers: [{name: main, image: local/busybox:1, command: [sleep, "1000000"],
	    resources: {requests: {cpu: 500m, memory: 32Mi}, limits: {cpu: 500m, memory: 32Mi}}}]
	EOF
	mv "$WORK/pod.new" "$PODS/$1.yaml"
}

with_cpus one "$B"
check "a pod with CPUs in its annotation" eventually 20 pod_runs one
check "... which the kubelet does not give it" on_cpus one "$ALL"
check "neapd as somebody whom the kubelet does not know" neap stranger
check "... is told so" eventually 20 says 'kubelet: .*it does not know who asks'
neapd_end TERM
check "neapd with a certificate" neap neap
check "... reads the pods" eventually 20 says 'kubelet: its pods are read'
check "... and the pod has its CPUs" eventually 20 on_cpus one "$B"
with_cpus two 777
check "a pod that comes later" eventually 20 pod_runs two
check "... with a CPU that is not there is told" eventually 20 says 'pod shop/two-node: CPUsNotOnline: '
PID=$(pod_pid one)
still_on() { is "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$PID/status")" "$1"; }
check "the kubelet ends" kubelet_end TERM
check "... which is told" eventually 20 says 'kubelet: .*; the pods that were read before stay'
check "... and nothing is taken" still_on "$B"
check "the kubelet comes back" kubelet_here
again() { [ "$(grep -c 'kubelet: its pods are read' "$WORK/neapd.log")" -gt 1 ]; }
check "... and is read again" eventually 30 again
check "... with the CPUs as they were" eventually 20 on_cpus one "$B"
neapd_end TERM
tap_end
