# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A whole node for one test: a real kubelet with containerd and runc, in namespaces of its
# own (net, mounts, processes), so that nothing of it is seen outside but its control
# groups, and all of it ends with the test. It runs without an API server: its pods are
# files in a folder. Pods use the node's network, so that no network plugin is needed.
# Sourced by t/node/*.t before anything else.

# Once more inside: what follows sees these mounts and processes only. The kernel ends all
# of them with the first one.
if [ -z "${NODE_INSIDE:-}" ]; then
	[ "$(id -u)" -eq 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
	unshare --net --mount --pid --fork --mount-proc true 2>/dev/null ||
		{ echo "1..0 # SKIP no namespaces of net, mounts and processes here"; exit 0; }
	node_dir=$(mktemp -d "${TMPDIR:-/tmp}/neap-node.XXXXXX") || exit 1
	chmod 755 "$node_dir"
	TMPDIR=$node_dir NODE_INSIDE=$$ unshare --net --mount --pid --fork --kill-child --mount-proc "$0" "$@" &
	# It takes no other signal while it waits for the first process inside, which ends
	# with it.
	trap 'kill -9 $!' TERM INT
	wait $!
	rc=$?
	trap - TERM INT
	wait 2>/dev/null
	# What a test that was killed left: no process is there any more.
	for dir in /sys/fs/cgroup/{*/,}{neap-node,neap-test}-$${,-besteffort}; do
		[ ! -d "$dir" ] || find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	rm -rf "$node_dir"
	exit "$rc"
fi
. t/lib/tap.sh
. t/peers/lib.sh
# Processes have numbers of this namespace; groups are the machine's.
NODE=neap-node-$NODE_INSIDE
GROUP=neap-test-$NODE_INSIDE


need_node()
{
	local name
	need_cgroups
	need_peers kubelet containerd containerd-shim-runc-v2 ctr runc
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] || skip_all "this kubelet is for cgroup v1"
	BUSYBOX=$(command -v busybox) || skip_all "busybox is not installed"
	! ldd "$BUSYBOX" >/dev/null 2>&1 || skip_all "busybox is not static"
	for name in python3 curl; do
		command -v "$name" >/dev/null || skip_all "$name is not installed"
	done
	# shellcheck disable=SC2034  # for the test
	ALL=$(cat /sys/devices/system/cpu/online) CPU=$(hierarchy cpu)
}

# What a kubelet writes outside its own folder: sysctls of the whole machine are files of
# the test here.
node_places()
{
	local name
	mkdir -p "$WORK/sysctl" "$WORK/cni" "$PODS"
	for name in /run /var/log /var/lib; do mount -t tmpfs none "$name" || return 1; done
	for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys \
		kernel/keys/root_maxbytes; do
		cat "/proc/sys/$name" >"$WORK/sysctl/${name//\//.}" || return 1
		mount --bind "$WORK/sysctl/${name//\//.}" "/proc/sys/$name" || return 1
	done
	ip link set lo up
}

# A docker archive of one layer that holds busybox: what containerd can import without a
# registry.
image_make() # FILE
{
	local dir=$WORK/image sum
	mkdir -p "$dir/root/bin" "$dir/root/www" "$dir/root/tmp"
	cp "$BUSYBOX" "$dir/root/bin/busybox"
	"$BUSYBOX" --list | grep -vx busybox | while read -r name; do ln -sf busybox "$dir/root/bin/$name"; done
	echo hello >"$dir/root/www/index.html"
	tar -C "$dir/root" --sort=name --owner=0 --group=0 --numeric-owner -cf "$dir/layer.tar" .
	sum=$(sha256sum "$dir/layer.tar")
	cat >"$dir/config.json" <<-EOF
	{"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"], "Cmd": ["sleep", "infinity"]},
	 "rootfs": {"type": "layers", "diff_ids": ["sha256:${sum%% *}"]}}
	EOF
	echo '[{"Config": "config.json", "RepoTags": ["local/busybox:1"], "Layers": ["layer.tar"]}]' >"$dir/manifest.json"
	tar -C "$dir" -cf "$1" manifest.json config.json layer.tar
}

node_ctr() { "$PEER_BIN/ctr" -a "$WORK/containerd.sock" -n k8s.io "$@"; }

containerd_start()
{
	cat >"$WORK/containerd.toml" <<-EOF
	version = 2
	root = "$WORK/containerd/root"
	state = "$WORK/containerd/state"
	oom_score = 0
	disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
	 "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt",
	 "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing"]
	[grpc]
	address = "$WORK/containerd.sock"
	[plugins."io.containerd.grpc.v1.cri"]
	sandbox_image = "local/busybox:1"
	stream_server_address = "127.0.0.1"
	stream_server_port = "0"
	disable_tcp_service = true
	restrict_oom_score_adj = true
	[plugins."io.containerd.grpc.v1.cri".cni]
	bin_dir = "$WORK/cni"
	conf_dir = "$WORK/cni"
	[plugins."io.containerd.grpc.v1.cri".containerd]
	snapshotter = "overlayfs"
	default_runtime_name = "runc"
	[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
	runtime_type = "io.containerd.runc.v2"
	[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
	BinaryName = "$PEER_BIN/runc"
	SystemdCgroup = false
	EOF
	peer_start containerd env PATH="$PEER_BIN:$PATH" "$PEER_BIN/containerd" --config "$WORK/containerd.toml"
	eventually 5 node_ctr version && image_make "$WORK/busybox.tar" && node_ctr images import "$WORK/busybox.tar"
}

# kubelet_start none|static [FLAG...]: until it is healthy. Its pods are the files of
# PODS; /NODE/kubepods holds them. With KUBELET_ANONYMOUS=false it answers over HTTPS to
# those alone whom it knows.
kubelet_start()
{
	local policy=$1 h
	shift
	for h in /sys/fs/cgroup/*/; do
		case $h in */unified/) continue ;; esac
		mkdir -p "$h$NODE"
		[ ! -e "$h$NODE/cpuset.cpus" ] || { cat "$h/cpuset.cpus" >"$h$NODE/cpuset.cpus"; cat "$h/cpuset.mems" >"$h$NODE/cpuset.mems"; }
	done
	mkdir -p "$KUBELET"
	# A static manager refuses the state of another policy.
	grep -qs "\"policyName\":\"$policy\"" "$KUBELET/cpu_manager_state" || rm -f "$KUBELET/cpu_manager_state"
	cat >"$KUBELET/config.yaml" <<-EOF
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	address: 127.0.0.1
	readOnlyPort: 10255
	healthzPort: 10248
	healthzBindAddress: 127.0.0.1
	authentication: {anonymous: {enabled: ${KUBELET_ANONYMOUS:-true}}, webhook: {enabled: false}}
	authorization: {mode: AlwaysAllow}
	staticPodPath: $PODS
	fileCheckFrequency: 1s
	syncFrequency: 5s
	cgroupDriver: cgroupfs
	cgroupRoot: /$NODE
	cgroupsPerQOS: true
	enforceNodeAllocatable: [pods]
	cpuManagerPolicy: $policy
	cpuManagerReconcilePeriod: 2s
	failSwapOn: false
	makeIPTablesUtilChains: false
	evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
	imageGCHighThresholdPercent: 100
	hairpinMode: none
	EOF
	[ "$policy" = none ] || echo 'reservedSystemCPUs: "0"' >>"$KUBELET/config.yaml"
	peer_start kubelet "$PEER_BIN/kubelet" --config "$KUBELET/config.yaml" --root-dir "$KUBELET" --cert-dir "$KUBELET/pki" \
		--hostname-override node --container-runtime remote --container-runtime-endpoint "unix://$WORK/containerd.sock" \
		--containerd "$WORK/containerd.sock" --pod-infra-container-image local/busybox:1 --v 2 "$@"
	eventually 20 curl -sf http://127.0.0.1:10248/healthz
}

# kubelet_end SIGNAL
kubelet_end()
{
	kill "-$1" "$PEER_PID_kubelet"
	timeout 30 tail --pid="$PEER_PID_kubelet" -f /dev/null
}

# pod NAME CPU COMMAND...: Guaranteed with CPU (200m, 1), BestEffort with -, Burstable
# with +. A kubelet with the static manager keeps one CPU, so that on two no more than one
# is asked for.
pod()
{
	local name=$1 cpu=$2 rest='' command
	shift 2
	case $cpu in
	-) ;;
	+) rest="resources: {requests: {memory: 16Mi}}" ;;
	*) rest="resources: {requests: {cpu: \"$cpu\", memory: 32Mi}, limits: {cpu: \"$cpu\", memory: 32Mi}}" ;;
	esac
	command=$(printf '"%s", ' "$@")
	cat >"$WORK/pod.new" <<-EOF
	apiVersion: v1
	kind: Pod
	metadata: {name: $name, namespace: shop}
	spec:
	  hostNetwork: true
	  terminationGracePeriodSeconds: 1
	  containers:
	  - name: main
	    image: local/busybox:1
	    command: [${command%, }]
	    $rest
	EOF
	mv "$WORK/pod.new" "$PODS/$name.yaml"
}

# What the kubelet says of its pods. A static pod has the node's name behind its own.
pods_json() { curl -sf http://127.0.0.1:10255/pods; }
pod_field() # NAME PYTHON-EXPRESSION of p
{
	pods_json | python3 -c '
import json, sys
for p in json.load(sys.stdin)["items"] or []:
    if p["metadata"]["name"] == sys.argv[1] + "-node":
        print(eval(sys.argv[2]))' "$1" "$2"
}
pod_uid() { pod_field "$1" 'p["metadata"]["uid"]'; }
pod_container() { pod_field "$1" 'p["status"]["containerStatuses"][0]["containerID"].split("//")[1]'; }
pod_runs() { is "$(pod_field "$1" 'p["status"]["containerStatuses"][0]["state"].get("running") is not None')" True; }
# The one that the container started.
pod_pid() { node_ctr tasks ls | awk -v id="$(pod_container "$1")" '$1 == id { print $2 }'; }
pod_cpus() { awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$(pod_pid "$1")/status"; }
pod_restarts() { pod_field "$1" 'p["status"]["containerStatuses"][0]["restartCount"]'; }

# Clients before servers; the kernel ends what is left when this shell ends.
node_end()
{
	local id
	rm -f "$PODS"/*.yaml
	[ -z "${PEER_PID_kubelet:-}" ] || kill -9 "$PEER_PID_kubelet" 2>/dev/null
	[ -z "${NEAPD_PID:-}" ] || kill -9 "$NEAPD_PID" 2>/dev/null
	for id in $(node_ctr tasks ls -q 2>/dev/null); do node_ctr tasks kill -s KILL "$id"; done 2>/dev/null
	tap_cleanup 2>/dev/null # not what is mounted
	remove_groups /sys/fs/cgroup/*/"$NODE"
}

node_start()
{
	tap_start
	trap node_end EXIT
	PODS=$WORK/pods KUBELET=$WORK/kubelet
	check "a node of its own: places" node_places || tap_end
	check "containerd, with an image" containerd_start || tap_end
}
