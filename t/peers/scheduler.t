#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A stock kube-scheduler on neapd beside one on a real kube-apiserver: the same pods come
# to the same nodes, with the same messages (t/peers/cluster.jq makes them). Restarts of
# either. Then with neap as its extender, as doc/tutorial-extender.md and
# doc/deploy/kube-scheduler.yaml have it.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers etcd kube-apiserver kube-scheduler kubectl
need_cgroups
for tool in jq curl openssl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
need_long
tap_start
peers_trap

kube() { "$PEER_BIN/kubectl" --kubeconfig "$WORK/$1.config" "${@:2}"; }
make_list() { jq -n -r -f t/peers/cluster.jq --arg what "$1"; }
create() { make_list "$2" | kube "$1" create --validate=false -f - >/dev/null; }

# As the controller of volumes tells it.
available()
{
	kube "$1" get pv local -o json | jq '.status.phase = "Available"' |
		kube "$1" replace --raw /api/v1/persistentvolumes/local/status -f - >/dev/null
}

# scheduler_start NAME PORT [OPTION...]
scheduler_start()
{
	peer_start "$1" "$PEER_BIN/kube-scheduler" --port 0 --bind-address 127.0.0.1 --secure-port "$2" --cert-dir "$WORK" \
		--authentication-skip-lookup "${@:3}"
}

volume() { kube "$1" get pv local -o jsonpath='{.spec.claimRef.namespace}/{.spec.claimRef.name}'; }
# The scheduler has said something of each pod of a group that is its own; of one with a
# volume it says nothing until a controller of volumes has seen the claim.
decided()
{
	[ "$2" != volume ] || { is "$(volume "$1")" default/local; return; }
	kube "$1" get pods -l "group=$2" -o json | jq -e '[.items[] | select(.spec.schedulerName == "default-scheduler"
		and .spec.nodeName == null and ([.status.conditions[]? | select(.type == "PodScheduled")] == []))] == []'
}

# A line for each pod: group, class of its node, of some the zone, what the pod is told,
# and whether it is being deleted.
placed()
{
	kube "$1" get pods -o json | jq -r '.items[] | . as $pod
		| ([.status.conditions[]? | select(.type == "PodScheduled")][0] // {}) as $is
		| [.metadata.labels.group, (.spec.nodeName // "-" | if $pod.metadata.labels.group == "spread" then . else sub("-.*"; "") end
			| sub("ssd-[03]"; "z0") | sub("ssd-[14]"; "z1") | sub("ssd-[25]"; "z2")),
		($is.status // "-"), ($is.reason // "-"), ($is.message // "-"), (.metadata.deletionTimestamp != null | tostring)]
		| join(" | ")' | sort
}
# Events of the scheduler: what is told of each group, however often.
told()
{
	kube "$1" get events -o json | jq -r '.items[] | select(.source.component == "default-scheduler" or
		.reportingComponent == "default-scheduler") | [(.involvedObject.name | sub("-.*"; "")), .type, .reason, (.message
		| gsub("(?<a>small|ssd|own|prio)-[0-9]"; .a) | gsub("-[0-9]+"; ""))] | join(" | ")' | sort -u
}
same() { diff -u "$WORK/real.$1" "$WORK/neap.$1"; }

peer_ports 10
check "a kube-apiserver is up" real_api_start "$PEER_PORT" || tap_end
NEAP_PORT=$((PEER_PORT + 3)) # and two more
check "neapd is up" neap_api_start "$NEAP_PORT" --roles api --tls-listen "127.0.0.1:$((NEAP_PORT + 1))" || tap_end
cp "$REAL_CONFIG" "$WORK/real.config"
cp "$WORK/data/kubeconfig" "$WORK/neap.config" # client-go sends no token without TLS
for on in real neap; do
	check "nodes and volumes, $on" eval "create $on nodes && create $on objects"
	check "the volume is there, $on" available $on
	scheduler_start "scheduler-$on" $((PEER_PORT + 6 + $([ $on = real ]; echo $?))) --kubeconfig "$WORK/$on.config"
done

for group in $(make_list groups); do
	for on in real neap; do create $on "$group" || check "pods of $group, $on" false; done
	for on in real neap; do
		eventually 15 decided $on "$group" || check "$on: all pods of $group are decided on" cat "$WORK/try.out"
	done
done
for on in real neap; do
	placed $on >"$WORK/$on.placed"
	told $on >"$WORK/$on.told"
	volume $on >"$WORK/$on.volume"
done
check "the same pods are on the same nodes, with the same messages" same placed
check "of $(wc -l <"$WORK/neap.placed") pods" test "$(wc -l <"$WORK/neap.placed")" -ge 90
check "events say the same" same told
check "the scheduler gives the volume to the claim" same volume
check "and which it is" is "$(cat "$WORK/neap.volume")" default/local

# --- restarts ---

kube real delete lease -n kube-system kube-scheduler >/dev/null
peer_end scheduler-real
holder() { kube neap get lease -n kube-system kube-scheduler -o jsonpath='{.spec.holderIdentity}'; }
on_nodes() { is "$(kube neap get pods -l "group=$1" -o json | jq '[.items[].spec.nodeName // empty] | length')" "$2"; }
more() { make_list plain | sed "s/plain/$1/" | kube neap create --validate=false -f - >/dev/null; }
first=$(holder)
check "a Lease says who schedules" test -n "$first"
kill -9 "$NEAPD_PID"
wait "$NEAPD_PID" 2>/dev/null
"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
NEAPD_PID=$!
check "neapd is killed and starts again" eventually 10 more again
check "the scheduler goes on, and places all pods" eventually 20 on_nodes again 12
peer_end scheduler-neap KILL
check "pods come while no scheduler is there" more late
scheduler_start second "$((PEER_PORT + 8))" --kubeconfig "$WORK/neap.config"
check "another one takes the Lease when its time is over, and places them" eventually 40 on_nodes late 12
check "it holds it" not is "$(holder)" "$first"
peer_end second
neapd_end TERM
rm -rf "$WORK/data" "$WORK/run"

# --- with the extender ---

T=$WORK/tutorial
mkdir "$T"
part() { awk -v from="^## $1" -v to="^## $(($1 + 1))" '$0 ~ to { exit } $0 ~ from { on = 1 } on' doc/tutorial-extender.md; }
block() { part "$1" | awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' | grep -v '^export'; }
# What a reader types, with this test's folders and ports in it; a kube-scheduler of 1.20
# has another apiVersion.
there()
{
	sed -e "s|/tmp/neap-extender|$T|g; s|/etc/neap/|$WORK/etc/|g; s|/etc/kubernetes|$WORK/etc|g; s|doc/deploy/|$WORK/deploy/|g" \
		-e "s|127.0.0.1:6327|127.0.0.1:$NEAP_PORT|g; s|127.0.0.1:6330|127.0.0.1:$((NEAP_PORT + 2))|g" \
		-e 's|kubescheduler.config.k8s.io/v1$|kubescheduler.config.k8s.io/v1beta1|' "$@"
}
mkdir "$WORK/deploy" "$WORK/etc"
for file in kube-scheduler.yaml scheduler.conf; do there "doc/deploy/$file" >"$WORK/deploy/$file"; done
# That of 1.20 serves its health without TLS, too, and on all addresses.
printf '%sBindAddress: 127.0.0.1:%s\n' healthz $((PEER_PORT + 9)) metrics $((PEER_PORT + 9)) >>"$WORK/deploy/kube-scheduler.yaml"
certificates() { block 1 | sed 's/^ *//' | (set -e; . /dev/stdin); }
check "certificates of the tutorial" certificates
neapd_options --policy none --roles api,scheduler --schedule-default=false --listen "127.0.0.1:$NEAP_PORT" \
	--extender-listen "127.0.0.1:$((NEAP_PORT + 2))" --tls-cert "$T/neapd.crt" --tls-key "$T/neapd.key" \
	--tls-client-ca "$T/ca.crt" --grant editor=user:system:kube-scheduler
"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
NEAPD_PID=$!
check "neapd with the extender" eventually 10 test -s "$WORK/data/kubeconfig"
cp "$WORK/data/kubeconfig" "$WORK/neap.config"
check "six nodes with eight CPUs each" eventually 10 create neap cpus

# The last of its commands runs until it is ended.
part 7 | sed -n 's/^# //p' | there >"$WORK/typed"
check "its commands end with a kube-scheduler" grep -q '^kube-scheduler --config' <(tail -n 1 "$WORK/typed")
check "its certificates and kubeconfig are laid out" eval "head -n -1 '$WORK/typed' | bash -eu"
peer_start extended bash -c "PATH=$PEER_BIN:\$PATH exec $(tail -n 1 "$WORK/typed") --secure-port $((PEER_PORT + 8)) \
	--bind-address 127.0.0.1 --cert-dir $WORK --authentication-skip-lookup"

check "pods that want CPUs of their own" create neap lsr
check "as many as there are CPUs get them" eventually 40 on_nodes lsr 48
waits() { is "$(kube neap get pods -l group=lsr -o json | jq '[.items[].status.conditions[]? | .reason // empty] | length')" 4; }
check "the others wait" eventually 20 waits
cpus_given()
{
	kube neap get pods -l group=lsr -o json | jq -r '.items[] | select(.spec.nodeName != null) | .spec.nodeName + " "
		+ (.metadata.annotations["scheduling.koordinator.sh/resource-status"] | fromjson | .cpuset)'
}
cpus_given >"$WORK/given"
check "each of them one CPU" test "$(grep -cE '^ssd-[0-5] [0-7]$' "$WORK/given")" -eq 48
check "and no CPU is given twice" test "$(sort -u "$WORK/given" | wc -l)" -eq 48
message() { kube neap get events -o json | jq -r '.items[] | select(.reason == "FailedScheduling") | .message' | sort -u; }
check "why they wait is told" has "$(message)" "0/6 nodes are available: 6 Insufficient cpu."
tap_end
