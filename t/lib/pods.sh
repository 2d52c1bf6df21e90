# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034  # NEAPD_PID belongs to tap.sh
#
# A neapd that runs pods, and kubectl beside it. Sourced behind t/lib/tap.sh.

# As whom pods run: somebody whom no other test has, and who is not the test's loop, which
# is nobody.
PODS_UID=$((30000 + $$ % 20000))
PODS_USER=$PODS_UID

pods_need()
{
	need_cgroups
	command -v kubectl >/dev/null || skip_all "kubectl is not installed"
	# What picks a kubectl by the server's version is slower than one of them.
	local real
	real=$(find "$(dirname "$(readlink -f "$(command -v kubectl)")")" -maxdepth 1 -name 'kubectl.1.*' | sort -V | tail -n 1)
	KUBECTL=${real:-kubectl}
}

# pods_start [OPTION...]: until the node is ready.
pods_start()
{
	[ -n "${PORT:-}" ] || free_port
	export KUBECONFIG=$WORK/data/kubeconfig HOME=$WORK
	neapd_options --listen "127.0.0.1:$PORT" --node-name here --run-pods --run-pods-user "$PODS_USER" "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 20 test -s "$KUBECONFIG" &&
		eventually 20 k_says True get node here -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
}

k() { "$KUBECTL" --request-timeout=20s "$@"; }
# k_says TEXT ARGUMENT...: kubectl prints just that.
k_says() { local text=$1; shift; is "$(k "$@" 2>&1)" "$text"; }
# k_has PART ARGUMENT...
k_has() { local part=$1; shift; has "$(k "$@" 2>&1)" "$part"; }
# k_fails PART ARGUMENT...
k_fails()
{
	local part=$1 out
	shift
	if out=$(k "$@" 2>&1); then echo "did not fail: $out"; return 1; fi
	has "$out" "$part"
}
phase() { k_says "$2" get pod "$1" -o 'jsonpath={.status.phase}'; }
reason() { k_says "$2" get pod "$1" -o "jsonpath={.status.containerStatuses[0].state.*.reason}"; }

# pod_group POD [CONTAINER]: its directory in the hierarchy of cpu.
pod_group()
{
	local uid dir
	uid=$(k get pod "$1" -o 'jsonpath={.metadata.uid}') || return 1
	dir=$(find "$(hierarchy cpu)/$GROUP" "$(hierarchy cpu)/$GROUP-besteffort" -type d -name "pod$uid" 2>/dev/null) || return 1
	[ -n "$dir" ] || { echo "no group of pod $1 ($uid)"; return 1; }
	echo "$dir${2:+/$2}"
}
pod_pids() { cat "$(pod_group "$1" "$2")/cgroup.procs"; }

# pod NAME COMMAND [MORE OF spec [MORE OF the container]]: a manifest with a shell
# command, in YAML. It asks for a little CPU: best-effort work gets none on a machine that
# is busy otherwise.
pod()
{
	local ask='resources: {requests: {cpu: 10m}}'
	case ${4:-} in *resources:*) ask='' ;; esac
	cat <<-YAML
	apiVersion: v1
	kind: Pod
	metadata: {name: $1, labels: {app: $1}}
	spec:
	  terminationGracePeriodSeconds: 5
	  ${3:-restartPolicy: Never}
	  containers:
	  - name: main
	    image: none
	    command: ["/bin/sh", "-c", $(printf '%s' "$2" | sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&"/')]
	    ${4:-}
	    $ask
	YAML
}
apply() { k apply -f - >/dev/null; }
run_pod() { pod "$@" | apply; }

# The parents of commands that run: they keep the command line of the neapd that started
# them.
shims()
{
	local at
	for at in /proc/[0-9]*; do
		[ "$(cat "$at/comm" 2>/dev/null)" = neap-shim ] || continue
		tr '\0' ' ' 2>/dev/null <"$at/cmdline" | grep -q -- "--data-dir $WORK/data" && echo "${at#/proc/}"
	done
}

# Nothing is left of pods: no process of their user below neap's group, no folder, no
# shim.
pods_are_gone()
{
	local left
	left=$(find "$(hierarchy cpu)/$GROUP" "$(hierarchy cpu)/$GROUP-besteffort" -type d -name 'pod*' 2>/dev/null)
	[ -z "$left" ] || { echo "groups: $left"; return 1; }
	left=$(ls "$WORK/data/pods" 2>/dev/null)
	[ -z "$left" ] || { echo "folders: $left"; return 1; }
	left=$(shims)
	[ -z "$left" ] || { echo "shims: $left"; return 1; }
}
