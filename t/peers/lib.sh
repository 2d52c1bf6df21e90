# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The real parts of Kubernetes for tests: where `make peers` put them, and a control plane
# of them on loopback that ends with the test. Sourced after t/lib/tap.sh, whose
# tap_cleanup ends what was started here.

PEERS=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/neap-peers}
PEER_BIN=$PEERS/bin
PEER_PIDS=()
# Where servers listen; a test with networks of its own has another one.
PEER_ADDRESS=${PEER_ADDRESS:-127.0.0.1}

# `make test` runs a short form of each of these tests, of seconds, where the parts are
# there; `make test-peers` sets PEERS_LONG and runs all of it.
PEERS_LONG=${PEERS_LONG:-}
need_long() { [ -n "$PEERS_LONG" ] || skip_all "only by make test-peers"; }

# need_peers NAME...: the test is skipped where one of them was not built.
need_peers()
{
	local name
	[ -z "${SAN:-}" ] || skip_all "beside Kubernetes, and not in a build with sanitizers"
	for name in "$@"; do
		[ -x "$PEER_BIN/$name" ] || skip_all "no $name of Kubernetes here (make peers)"
	done
}

# peer_ports N: sets PEER_PORT to the first of N free ports in a row, which no other
# script here takes.
peer_ports()
{
	local at=$((32000 - ($$ % 400 + 1) * 20)) i
	while :; do
		for ((i = 0; i < $1; i++)); do port_is_free $((at + i)) || break; done
		[ "$i" -lt "$1" ] || break
		at=$((at - $1))
	done
	# shellcheck disable=SC2034  # for the test
	PEER_PORT=$at
}

# peer_start NAME COMMAND...: in the background, its output in WORK/NAME.log;
# PEER_PID_NAME is its pid.
peer_start()
{
	local name=$1
	shift
	"$@" >"$WORK/$name.log" 2>&1 </dev/null &
	PEER_PIDS+=($!)
	printf -v "PEER_PID_${name//-/_}" %s $!
}

# peer_end NAME [SIGNAL]
peer_end()
{
	local pid=PEER_PID_${1//-/_}
	kill "-${2:-TERM}" "${!pid}" && wait "${!pid}" 2>/dev/null
}

# Clients before servers.
peers_end()
{
	local i pid
	for ((i = ${#PEER_PIDS[@]} - 1; i >= 0; i--)); do
		pid=${PEER_PIDS[i]}
		kill "$pid" 2>/dev/null || continue
		timeout 15 tail --pid="$pid" -f /dev/null || kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	PEER_PIDS=()
}

peers_trap() { trap 'peers_end; tap_cleanup' EXIT; }

# kubeconfig_write FILE URL TOKEN [CA]
kubeconfig_write()
{
	cat >"$1" <<-EOF
	apiVersion: v1
	kind: Config
	clusters: [{name: c, cluster: {server: "$2"${4:+, certificate-authority: "$4"}}}]
	users: [{name: u, user: {token: "$3"}}]
	contexts: [{name: c, context: {cluster: c, user: u}}]
	current-context: c
	EOF
}

# real_api_start PORT [FLAG...]: etcd, and a kube-apiserver at PEER_ADDRESS, on PORT to
# PORT + 2, until it is ready. Sets REAL_URL, REAL_TOKEN, REAL_CA, REAL_CONFIG, ETCD_URL.
# ServiceAccount objects are not asked for, and a node gets no taint, as in neapd. With
# REAL_AUTHORIZATION=RBAC users have rights; REAL_USERS names some, whose token is
# NAME-token.
real_api_start()
{
	local port=$1 dir=$WORK/real user
	shift
	mkdir -p "$dir"
	# shellcheck disable=SC2034  # for the test
	ETCD_URL=http://127.0.0.1:$((port + 1))
	REAL_URL=https://$PEER_ADDRESS:$port REAL_TOKEN=real-admin REAL_CA=$dir/ca.crt REAL_CONFIG=$dir/kubeconfig
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout "$dir/ca.key" -out "$dir/ca.crt" 2>/dev/null
	openssl req -newkey rsa:2048 -nodes -subj /CN=kube-apiserver -keyout "$dir/api.key" -out "$dir/api.csr" 2>/dev/null
	openssl x509 -req -in "$dir/api.csr" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -CAcreateserial -days 2 \
		-extfile <(echo "subjectAltName=IP:$PEER_ADDRESS,DNS:localhost") -out "$dir/api.crt" 2>/dev/null
	openssl genrsa -out "$dir/sa.key" 2048 2>/dev/null
	echo "$REAL_TOKEN,admin,admin,\"system:masters\"" >"$dir/tokens.csv"
	for user in ${REAL_USERS:-}; do echo "$user-token,$user,$user" >>"$dir/tokens.csv"; done
	kubeconfig_write "$REAL_CONFIG" "$REAL_URL" "$REAL_TOKEN" "$REAL_CA"
	REAL_FLAGS=("$@")
	real_etcd_start
	real_apiserver_start
}

# The etcd alone, with what lies in WORK/real/etcd.
real_etcd_start()
{
	local dir=$WORK/real port=${REAL_URL##*:}
	peer_start etcd "$PEER_BIN/etcd" --data-dir "$dir/etcd" --unsafe-no-fsync \
		--listen-client-urls "http://127.0.0.1:$((port + 1))" --advertise-client-urls "http://127.0.0.1:$((port + 1))" \
		--listen-peer-urls "http://127.0.0.1:$((port + 2))" --initial-advertise-peer-urls "http://127.0.0.1:$((port + 2))" \
		--initial-cluster "default=http://127.0.0.1:$((port + 2))"
}

# The kube-apiserver alone, also once more after it was ended.
real_apiserver_start()
{
	local dir=$WORK/real port=${REAL_URL##*:}
	peer_start kube-apiserver "$PEER_BIN/kube-apiserver" --etcd-servers "http://127.0.0.1:$((port + 1))" \
		--bind-address "$PEER_ADDRESS" --advertise-address "$PEER_ADDRESS" --secure-port "$port" --insecure-port 0 \
		--cert-dir "$dir" --tls-cert-file "$dir/api.crt" --tls-private-key-file "$dir/api.key" --client-ca-file "$dir/ca.crt" \
		--token-auth-file "$dir/tokens.csv" --authorization-mode "${REAL_AUTHORIZATION:-AlwaysAllow}" --anonymous-auth=false \
		--service-account-issuer https://kubernetes.default.svc --service-account-key-file "$dir/sa.key" \
		--service-account-signing-key-file "$dir/sa.key" --service-cluster-ip-range 10.0.0.0/24 \
		--endpoint-reconciler-type none --disable-admission-plugins ServiceAccount,TaintNodesByCondition \
		--allow-privileged=true \
		--max-requests-inflight 2000 --max-mutating-requests-inflight 1000 "${REAL_FLAGS[@]}"
	eventually 30 real_ready
}

real_ready()
{
	[ "$("$PEER_BIN/kubectl" --kubeconfig "$REAL_CONFIG" get --raw /readyz)" = ok ] &&
		"$PEER_BIN/kubectl" --kubeconfig "$REAL_CONFIG" get namespace default
}

# neap_api_start PORT [OPTION...]: a neapd that serves plain HTTP. Sets NEAP_URL,
# NEAP_TOKEN, NEAP_CONFIG.
neap_api_start()
{
	local port=$1
	shift
	NEAP_URL=http://127.0.0.1:$port NEAP_CONFIG=$WORK/neap.kubeconfig
	neapd_options --policy none --listen "127.0.0.1:$port" --tls-listen off "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	# shellcheck disable=SC2034  # for tap_cleanup
	NEAPD_PID=$!
	eventually 10 test -s "$WORK/data/token" && eventually 10 curl -sf "$NEAP_URL/readyz" || return 1
	NEAP_TOKEN=$(cat "$WORK/data/token")
	kubeconfig_write "$NEAP_CONFIG" "$NEAP_URL" "$NEAP_TOKEN"
}
