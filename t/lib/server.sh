# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034  # for the test
#
# Whose objects the neapd of a test works on, by one switch, SERVER: `own`, its own;
# `neap`, those of a second neapd, over TLS; `real`, those of a kube-apiserver with etcd
# and RBAC, with the rights of doc/deploy/rbac.yaml and no more; with PROFILE=1.32 and
# the like as a later version looks (t/peers/newer.py). neapd_options
# (t/lib/tap.sh) gives the neapd that is tested the roles and the kubeconfig for it.
#
# Sourced behind t/lib/tap.sh: server_need, then tap_start, then server_start. curl
# reaches the objects with SERVER_CURL at SERVER_URL.
. t/peers/lib.sh

SERVER=${SERVER:-own}
SERVER_FLAGS=() # more of them, for the server that is started
is_own() { [ "$SERVER" = own ]; }

server_need()
{
	case $SERVER in
	own) return ;;
	neap) need_root ;;
	real) need_root && need_peers etcd kube-apiserver kubectl ;;
	*) echo "SERVER=$SERVER: own, neap or real"; exit 1 ;;
	esac
	for tool in curl jq openssl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
}

# server_check NAME REASON COMMAND...: a check of what only neapd's own server does.
server_check()
{
	if is_own; then check "$1" "${@:3}"; else skip "$1" "SERVER=$SERVER: $2"; fi
}

# server_start [USER...]: of `own` it starts nothing; users have the ClusterRoles of
# their names, and WORK/USER.config; SERVER_ADMIN is the kubeconfig of an admin.
server_start()
{
	SERVER_CURL=(-sS -m 60 --unix-socket "$WORK/neap.sock") SERVER_URL=http://neap
	is_own && return
	peers_trap
	peer_ports 5
	server_"$SERVER" "$@" || return 1
	SERVER_URL=https://$PEER_ADDRESS:$PEER_PORT
	SERVER_CONFIG=$WORK/neapd.config SERVER_ADMIN=$REAL_CONFIG
	server_api POST /apis/scheduling.k8s.io/v1/priorityclasses '{"metadata":{"name":"koord-prod"},"value":9500}' >/dev/null
}

server_real()
{
	local user url
	REAL_AUTHORIZATION=RBAC REAL_USERS="neapd $*"
	real_api_start "$PEER_PORT" "${SERVER_FLAGS[@]}" || return 1
	server_kube apply -f doc/deploy/crds -f doc/deploy/rbac.yaml >/dev/null || return 1
	url=$REAL_URL
	if [ -n "${PROFILE:-}" ]; then
		url=https://127.0.0.1:$((PEER_PORT + 4))
		peer_start newer t/peers/newer.py "$PROFILE" $((PEER_PORT + 4)) "${REAL_URL#https://}" "$WORK/real/api.crt" "$WORK/real/api.key" \
			"$REAL_CA"
	fi
	for user in $REAL_USERS; do
		kubeconfig_write "$WORK/$user.config" "$url" "$user-token" "$REAL_CA"
		[ "$user" = neapd ] || server_bind "$user" "$user"
	done
	# One neapd with both roles has the rights of both.
	server_bind neapd neap-scheduler && server_bind neapd neap-node
	# For a curl that says who it is answers are indented.
	SERVER_CURL=(-sS -m 60 -A test --cacert "$REAL_CA" -H "Authorization: Bearer $REAL_TOKEN")
}
# The controllers of a cluster, which the second neapd has itself.
server_controllers() # CONTROLLER,...
{
	[ "$SERVER" = real ] || return 0
	peer_start controllers "$PEER_BIN/kube-controller-manager" --kubeconfig "$REAL_CONFIG" --controllers "$1" --port 0 \
		--bind-address 127.0.0.1 --secure-port $((PEER_PORT + 3)) --cert-dir "$WORK" --authentication-skip-lookup
}
server_bind() { server_kube create clusterrolebinding "$1-$2" --clusterrole "$2" --user "$1" >/dev/null; }
server_kube() { "$PEER_BIN/kubectl" --kubeconfig "$REAL_CONFIG" "$@"; }

# Its users are what --token-file says; it has roles and no ClusterRoles.
server_neap()
{
	local user
	mkdir -p "$WORK/server" && chmod 1777 "$WORK/server"
	REAL_CONFIG=$WORK/server/data/kubeconfig
	server_neap_again || return 1
	for user in neapd "$@"; do ln -s "$REAL_CONFIG" "$WORK/$user.config"; done
	SERVER_CURL=(-sS -m 60 --cacert "$WORK/server/data/tls.crt"
		-H "Authorization: Bearer $(cat "$WORK/server/data/token")")
}
server_neap_again()
{
	peer_start server "$BUILD/neapd" --run-dir "$WORK/server/run" --data-dir "$WORK/server/data" --share-dir . --user nobody \
		--policy none --roles api,controllers --node-grace 1h --unix-socket "$WORK/server/neap.sock" \
		--listen "127.0.0.1:$((PEER_PORT + 1))" --tls-listen "$PEER_ADDRESS:$PEER_PORT" "${SERVER_FLAGS[@]}"
	eventually 30 server_neap_serves
}
server_neap_serves()
{
	has "$(curl -sS --unix-socket "$WORK/server/neap.sock" http://n/api/v1/namespaces/default)" '"kind":"Namespace"'
}

# It goes away without a word, and comes back with what it had stored.
server_kill() { if [ "$SERVER" = real ]; then peer_end kube-apiserver KILL; else peer_end server KILL; fi; }
server_again() { if [ "$SERVER" = real ]; then real_apiserver_start; else server_neap_again; fi; }

# server_api METHOD PATH [BODY [TYPE]]
server_api()
{
	curl "${SERVER_CURL[@]}" -X "$1" "$SERVER_URL$2" -H "Content-Type: ${4:-application/json}" ${3:+-d "$3"}
}

# The neapd that is tested has read all, and works.
server_ready()
{
	if is_own; then has "$(server_api GET /api/v1/namespaces/default)" '"kind":"Namespace"'
	else has "$(curl -sS -m 10 --unix-socket "$WORK/neap.sock" http://neap/readyz)" ok; fi
}

# server_options OPTION...: sets SERVER_OPTIONS, what stands for them in a neapd that
# works on another one's objects: those of the role api go.
server_options()
{
	local roles=scheduler,node
	SERVER_OPTIONS=()
	while [ $# -gt 0 ]; do
		case $1 in
		--roles) roles=$(echo "$2" | tr , '\n' | grep -vxE 'api|controllers|manager' | paste -sd,) && shift ;;
		--node-grace | --run-pods-user) shift ;;
		--run-pods) ;;
		*) SERVER_OPTIONS+=("$1") ;;
		esac
		shift
	done
	SERVER_OPTIONS+=(--roles "$roles" --kubeconfig "$SERVER_CONFIG")
	[[ ,$roles, != *,scheduler,* ]] || SERVER_OPTIONS+=(--leader-elect-lease-duration 3s
		--leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms)
}

# server_node NAME [CPUS [MEMORY]]: as a kubelet registers its Node. That of a neapd with
# objects of its own is made by itself.
server_node()
{
	local status
	status='{"cpu":"'"${2:-$(nproc --all)}"'","memory":"'"${3:-8Gi}"'","pods":"110"}'
	server_api POST /api/v1/nodes '{"metadata":{"name":"'"$1"'"}}' >/dev/null &&
		server_api PATCH "/api/v1/nodes/$1/status" '{"status":{"capacity":'"$status"',"allocatable":'"$status"',"conditions":[{
			"type":"Ready","status":"True","reason":"KubeletReady"}]}}' application/merge-patch+json >/dev/null
}
