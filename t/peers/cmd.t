#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kubectl's own test scripts, test/cmd of the Kubernetes source, against neapd;
# t/peers/asserts.sh runs them, an assert that fails ends nothing. In short a few of their
# functions, with PEERS_LONG all of them, on a neapd for each of some CPUs at once.
#
# t/peers/cmd.real has how many asserts of each function a kube-apiserver passes,
# t/peers/cmd.fails those that neapd fails on purpose. It is a fault where another one
# fails, where one of that list passes, and where a function comes to other asserts than
# on the kube-apiserver.
#
# CMD=NAMES: these functions alone. CMD_KEEP=DIR: what they print, and the table, go
# there. CMD_REAL=1: all against a kube-apiserver, which writes t/peers/cmd.real anew.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers kubectl kube-controller-manager
THEIRS=$PEERS/go/src/k8s.io/kubernetes
[ -d "$THEIRS/test/cmd" ] || skip_all "no tests of Kubernetes here (make peers)"
command -v jq >/dev/null || skip_all "jq is not installed"
[ -z "$CMD_REAL" ] || need_peers etcd kube-apiserver
tap_start
peers_trap

NAMES= # all that there are
SHORT='kubectl_version kubectl_get namespace configmap create_job'
if [ -n "$CMD" ]; then SHARDS=("$CMD") NAMES=$CMD
elif [ -n "$CMD_REAL" ]; then SHARDS=(0/1)
elif [ -n "$PEERS_LONG" ]; then
	of=$(nproc)
	[ "$of" -le 4 ] || of=4
	for ((n = 0; n < of; n++)); do SHARDS+=("$n/$of"); done
else SHARDS=("$SHORT") NAMES=$SHORT
fi
TOKEN=admin-token-for-tests

# tree DIR: what the scripts need, with a token that is long enough, and paths below DIR.
tree()
{
	local path bin
	for path in hack test/cmd test/fixtures test/e2e/testing-manifests third_party/forked/shell2junit; do
		mkdir -p "$1/$(dirname "$path")"
		cp -r "$THEIRS/$path" "$1/$path" || return 1
	done
	bin=$1/_output/local/bin/linux
	case $(uname -m) in
	x86_64) bin=$bin/amd64 ;;
	aarch64) bin=$bin/arm64 ;;
	*) bin=$bin/$(uname -m) ;;
	esac
	mkdir -p "$bin" "$1/tmp"
	ln -s "$PEER_BIN/kubectl" "$bin/kubectl"
	sed -i "s,admin-token,$TOKEN,g; s,/tmp/\(tmp-\|record_\|junit\),$1/tmp/\1,g" "$1"/test/cmd/*.sh
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=server -keyout /dev/null -out "$1/tmp/apiserver.crt" 2>/dev/null
}

server()
{
	local port=$1 controllers=replicationcontroller config
	echo "$TOKEN,admin,admin,system:masters" >"$WORK/tokens"
	if [ -n "$CMD_REAL" ]; then
		echo 'real-admin,admin,admin,system:masters' >>"$WORK/tokens"
		controllers='*'
		real_api_start "$port" --token-auth-file "$WORK/tokens" --enable-admission-plugins LimitRanger,ResourceQuota \
			--disable-admission-plugins PersistentVolumeLabel,DefaultStorageClass,DefaultTolerationSeconds,StorageObjectInUseProtection ||
			return 1
		config=$REAL_CONFIG
	else
		chmod 600 "$WORK/tokens"
		[ "$(id -u)" -ne 0 ] || chown nobody "$WORK/tokens"
		neap_api_start $((port + 1)) --tls-listen "127.0.0.1:$port" --roles api,controllers --token-file "$WORK/tokens" \
			--grant admin=group:system:masters --share-dir "$WORK/share" || return 1
		config=$WORK/data/kubeconfig
	fi
	peer_start kube-controller-manager "$PEER_BIN/kube-controller-manager" --kubeconfig "$config" \
		--kube-api-content-type application/json --bind-address 127.0.0.1 --secure-port $((port + 3)) --port 0 \
		--leader-elect=false --controllers "$controllers"
}

# shard N: a server of its own, below a folder of its own.
shard()
{
	local top=$WORK port=$((PEER_PORT + $1 * 4))
	mkdir -p "$WORK/$1/share"
	WORK=$WORK/$1 GROUP=$GROUP-$1
	trap '[ -n "$NEAPD_PID" ] && kill "$NEAPD_PID"; peers_end' EXIT
	tree "$WORK/tree" && server "$port" || return 1
	bash t/peers/asserts.sh "$WORK/tree" "$port" "$WORK/asserts" "${SHARDS[$1]}"
	mv "$WORK/asserts" "$top/asserts.$1"
	[ -z "$CMD_KEEP" ] || cp "$WORK/asserts.log" "$CMD_KEEP/log.$1"
}

run()
{
	local n ended pids=()
	for n in "${!SHARDS[@]}"; do
		(shard "$n") >"$WORK/shard.$n" 2>&1 &
		pids+=($!)
	done
	wait "${pids[@]}"
	cat "$WORK"/shard.*
	cat "$WORK"/asserts.* >"$WORK/table"
	[ -z "$CMD_KEEP" ] || cp "$WORK/table" "$CMD_KEEP/table"
	ended=("$WORK"/asserts.*)
	[ "${#ended[@]}" -eq "${#SHARDS[@]}" ]
}

peer_ports $((${#SHARDS[@]} * 4))
[ -z "$CMD_KEEP" ] || mkdir -p "$CMD_KEEP"
check "they run" run || tap_end
if [ -n "$CMD_REAL" ]; then
	check "what a kube-apiserver passes" python3 t/peers/cmd.py real "$WORK/table" t/peers/cmd.real
else
	# shellcheck disable=SC2086  # one argument a name
	check "what fails is on the list" python3 t/peers/cmd.py compare "$WORK/table" t/peers/cmd.real t/peers/cmd.fails doc/api.md $NAMES
fi
grep -h ' of ' "$WORK/check.out" | sed 's/^/# /'
tap_end
