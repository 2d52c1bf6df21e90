#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A real kube-apiserver whose past is compacted while neapd stands still, one that starts
# again, and one that answers from an older state of etcd: neapd comes to what the server
# has, and decides nothing on a version older than one that it has seen.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
SERVER=real
. t/lib/server.sh
need_cgroups
server_need
need_long
tap_start

PODS=/api/v1/namespaces/default/pods
pod() # NAME [CPUS]
{
	server_api POST $PODS '{"metadata":{"name":"'"$1"'"},"spec":{"schedulerName":"neap-scheduler","containers":[{"name":"c",
		"image":"i","resources":{"requests":{"cpu":"'"${2:-1}"'"}}}]}}' | grep -q '"uid"'
}
remove() { server_api DELETE "$PODS/$1?gracePeriodSeconds=0" | grep -q '"uid"'; }
placed() { [ -n "$(server_api GET "$PODS/$1" | jq -r '.spec.nodeName // ""')" ]; }
figure() { curl -sS -m 10 --unix-socket "$WORK/neap.sock" http://neap/metrics | sed -n "s/^$1{client=\"neap-scheduler\",resource=\"$2\"} //p"; }
knows() { is "$(figure neap_client_objects "$1")" "$2"; }
above() { [ "$(figure "$1" "$2")" -gt "$3" ]; }
stop() { peer_end kube-apiserver KILL; peer_end etcd; :; }
go_on() { real_etcd_start; real_apiserver_start; }
etcd() { curl -sS -m 10 -X POST "$ETCD_URL/v3/kv/$1" -d "$2"; }

check "a kube-apiserver starts" server_start || tap_end
server_node a 8
start()
{
	neapd_options --policy none --roles scheduler --node-name a "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 20 server_ready
}
check "neapd reads it" start
check "a pod" pod first 4
check "... is placed" eventually 20 placed first

# --- compaction, and no memory of it in the server ---

expired=$(figure neap_client_expired_total pods)
kill -STOP "$NEAPD_PID"
peer_end kube-apiserver KILL
check "while neapd stands still the server starts again" real_apiserver_start
check "... the pod goes" remove first
check "... and another one is there" pod second 8
for i in 1 2 3; do pod "gone-$i" && remove "gone-$i"; done
revision=$(etcd range '{"key":"AA=="}' | jq -r .header.revision)
compacted() { is "$(etcd compaction '{"revision":"'"$revision"'","physical":true}' | jq -r 'has("header")')" true; }
check "its past is compacted" compacted
peer_end kube-apiserver KILL
check "... and it starts again" real_apiserver_start
kill -CONT "$NEAPD_PID"
check "neapd hears that its version is too old" eventually 30 above neap_client_expired_total pods "$expired"
check "... and comes to what the server has" eventually 30 knows pods 1
check "... so that there is room for the other pod" eventually 30 placed second

# --- a server of an older state ---

# What its watches hear of there is newer than what they know, so that nothing but the
# Lease tells, or a list that is needed.
keep() { stop && cp -r "$WORK/real/etcd" "$WORK/etcd.$1" && go_on; }
# go_to NAME: to what was kept; what there is now is the state `new`.
go_to()
{
	stop
	[ -e "$WORK/etcd.new" ] || mv "$WORK/real/etcd" "$WORK/etcd.new"
	rm -rf "$WORK/real/etcd"
	cp -r "$WORK/etcd.$1" "$WORK/real/etcd"
	go_on
}
back() { stop && rm -rf "$WORK/real/etcd" && mv "$WORK/etcd.new" "$WORK/real/etcd" && go_on; }
nodes_can() # VERB: be listed alone, or watched, too
{
	local resources='"namespaces","pods","persistentvolumes","persistentvolumeclaims"'
	[ "$1" = list ] || resources+=',"nodes"'
	server_api PATCH /apis/rbac.authorization.k8s.io/v1/clusterroles/neap-scheduler '[
		{"op":"replace","path":"/rules/0/resources","value":['"$resources"']},
		{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["nodes"],"verbs":["list"]}}]' \
		application/json-patch+json >/dev/null
}
said() { grep -F "$1" "$WORK/neapd.log"; }

check "what there is is kept" keep old
nodes_can list
check "... once more, where nodes can be listed alone" keep less
nodes_can watch
check "a pod goes" remove second
check "... and one comes" pod third 6
check "... which is placed" eventually 60 placed third
server_node b 8
check "... beside a node" eventually 60 knows nodes 2
for state in old less; do
	check "the server comes back as it was before ($state)" go_to $state
	check "... which is said" eventually 60 said "the server answers with an older state than before"
	# Until its versions are past those that neapd has seen.
	server_api POST '/api/v1/namespaces/default/configmaps?n=[1-500]' '{"metadata":{"generateName":"more-"}}' >/dev/null
	for i in 1 2 3 4 5 6; do pod "on-$state-$i" 1; done
	sleep 5
	check "... and no pod is decided on" is "$(server_api GET $PODS | jq -r '[.items[] | select(.spec.nodeName) | .metadata.name] | join(" ")')" second
	check "the server is what it was" back
	neapd_end TERM
	: >"$WORK/neapd.log"
	check "neapd starts anew, without a Lease" start --leader-elect=false
	pod "then-$state" 1
	check "... and pods are decided on" eventually 60 placed "then-$state"
done
neapd_end TERM
tap_end
