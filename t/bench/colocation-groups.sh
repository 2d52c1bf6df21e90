# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2034  # the other variables are colocation.sh's
#
# Groups and processes of colocation.sh. By hand the groups are made as neapd makes them,
# so that two variants differ by the setting alone: GROUP/burstable/podservice/main for
# the service, GROUP/besteffort/podbatch/main for the batch work, in every hierarchy that
# matters.

service_dir=$group/burstable/podservice/main
batch_dir=$group/besteffort/podbatch/main

# A sleep of N seconds without a process: on a descriptor that is always silent. A new one
# for each sleep has a process each, and in a sweep of many thousands bash came to wait
# for one that it had reaped.
exec {nap_fd}<> <(:)
nap() { read -rt "$1" -u "$nap_fd"; }

find_hierarchies()
{
	local name
	v2='' hierarchies=()
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		v2=/sys/fs/cgroup
		hierarchies=("$v2")
	else
		for name in cpu cpuacct cpuset memory; do
			[ -d "/sys/fs/cgroup/$name" ] && hierarchies+=("/sys/fs/cgroup/$name")
		done
	fi
	[ -w "${hierarchies[0]:-}/cgroup.procs" ] || die 'no writable cgroups'
}

left_groups()
{
	local top
	for top in "${hierarchies[@]}"; do
		[ -d "$top/$group" ] && echo "$top/$group"
	done
}

# set_key DIR KEY VALUE, KEY being cpu.shares, cpu.idle or cpuset.cpus.
set_key()
{
	local top=/sys/fs/cgroup/${2%%.*} key=$2 value=$3
	if [ -n "$v2" ]; then
		top=$v2
		if [ "$key" = cpu.shares ]; then
			key=cpu.weight value=$((1 + (value - 2) * 9999 / 262142))
		fi
	fi
	echo "$value" >"$top/$1/$key"
}

# All groups below a hierarchy, outer ones first.
group_dirs=("$group" "$group"/{burstable,burstable/podservice,burstable/podservice/main}
	"$group"/{besteffort,besteffort/podbatch,besteffort/podbatch/main})

# Few processes are started here: on a busy machine each takes its time, a thousand times.
make_groups()
{
	local top dir cpu_set node_set
	for top in "${hierarchies[@]}"; do
		(cd "$top" && mkdir "${group_dirs[@]}") || return 1
	done
	if [ -n "$v2" ]; then
		for dir in "" "${group_dirs[@]}"; do
			case $dir in */main) continue ;; esac # processes are only where no groups are
			echo '+cpu +cpuset +memory' >"$v2/$dir/cgroup.subtree_control" || return 1
		done
	elif [ -d "/sys/fs/cgroup/cpuset/$group" ]; then
		# A new group of cpuset is empty on v1, and takes no process.
		read -r cpu_set </sys/fs/cgroup/cpuset/cpuset.cpus
		read -r node_set </sys/fs/cgroup/cpuset/cpuset.mems
		for dir in "${group_dirs[@]}"; do
			echo "$cpu_set" >"/sys/fs/cgroup/cpuset/$dir/cpuset.cpus" || return 1
			echo "$node_set" >"/sys/fs/cgroup/cpuset/$dir/cpuset.mems" || return 1
		done
	fi
	set_key "$group" cpu.shares $((1024 * cpus)) # as neapd does
}

# What is empty of them goes.
remove_groups()
{
	local top i dirs=()
	for top in "${hierarchies[@]}"; do
		for ((i = ${#group_dirs[@]} - 1; i >= 0; i--)); do dirs+=("$top/${group_dirs[i]}"); done
	done
	rmdir "${dirs[@]}" 2>/dev/null
}

# What somebody without neap would do.
set_by_hand()
{
	local half
	case $1 in
	alone | nothing) ;;
	shares | slice) set_key "$group/besteffort" cpu.shares 2 ;;
	idle) set_key "$group/besteffort" cpu.idle 1 ;;
	idle-pod)
		set_key "$group/besteffort" cpu.shares 2 &&
			set_key "$group/besteffort/podbatch" cpu.idle 1
		;;
	split)
		half=0-$(((cpus + 1) / 2 - 1))
		set_key "$batch_dir" cpuset.cpus "$half" &&
			set_key "$group/besteffort/podbatch" cpuset.cpus "$half" &&
			set_key "$group/besteffort" cpuset.cpus "$half"
		;;
	esac
}

# enter DIR: this process goes into the group, in every hierarchy.
enter()
{
	local top
	for top in "${hierarchies[@]}"; do echo "$BASHPID" >"$top/$1/cgroup.procs" || exit 1; done
}

# Real-time priority may be refused outside the root group.
leave_groups() { echo "$BASHPID" >"${hierarchies[0]}/cgroup.procs" 2>/dev/null; }

# wait_for FILE TEXT PID: until the file has a line that begins so; up to 20 s.
wait_for()
{
	local from=$EPOCHREALTIME said
	while [ $((${EPOCHREALTIME/./} - ${from/./})) -lt 20000000 ]; do
		said=''
		if [ -s "$1" ]; then read -r said <"$1"; fi
		case $said in "$2"*) return 0 ;; esac
		kill -0 "$3" 2>/dev/null || return 1
		nap 0.01
	done
	return 1
}

start_neapd()
{
	local from=$EPOCHREALTIME
	"$build/neapd" --share-dir "$root" --run-dir "$tmp/run" --data-dir "$tmp/data" \
		--unix-socket "$sock" --group "$group" --listen off --user "$user" --kubepods off \
		--tick 100ms --window 10s --release-after 0s --policy "$1" >"$tmp/neapd.log" 2>&1 &
	daemon=$!
	while [ $((${EPOCHREALTIME/./} - ${from/./})) -lt 10000000 ]; do
		[ -S "$sock" ] && "$build/neapctl" --socket "$sock" status >/dev/null 2>&1 && return 0
		kill -0 "$daemon" 2>/dev/null || return 1
		nap 0.02
	done
	return 1
}

# start_server POLICY [OPTION...] / start_batch POLICY KIND
start_server()
{
	local policy=$1
	shift
	(
		set -- "$tools/colo_server" --threads "$cpus" --units "$units" "$@"
		[ -z "$policy" ] || exec "$build/neapctl" --socket "$sock" run --qos LS --name service -- "$@"
		enter "$service_dir"
		exec "$@"
	) >"$tmp/server" 2>>"$tmp/err" &
	server=$!
	wait_for "$tmp/server" 'ready ' "$server" || return 1
	port=$(sed -n 's/^ready //p' "$tmp/server")
}

start_batch()
{
	(
		policy=$1
		set -- "$tools/colo_batch" --kind "$2" --shared "$shared" --processes "$cpus" --dir "$disk_dir"
		[ -z "$policy" ] || exec "$build/neapctl" --socket "$sock" run --qos BE --name batch -- "$@"
		enter "$batch_dir"
		exec "$@"
	) >"$tmp/batch" 2>>"$tmp/err" &
	batch=$!
	wait_for "$tmp/batch" ready "$batch"
}

# end PID: TERM, and KILL for what does not end within three seconds.
end()
{
	local i
	[ -n "$1" ] || return 0
	kill -TERM "$1" 2>/dev/null
	for ((i = 0; i < 150; i++)); do
		kill -0 "$1" 2>/dev/null || break
		nap 0.02
	done
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# Ends everything and leaves no group.
end_all()
{
	local i had_daemon=$daemon
	end "$client"
	end "$batch"
	end "$server"
	end "$daemon"
	client='' batch='' server='' daemon=''
	# Processes of the batch work end a moment after their first one; the hand gives
	# back by itself.
	for ((i = 0; i < 300; i++)); do
		[ -n "$(left_groups)" ] || return 0
		if [ -z "$had_daemon" ] || [ $i -gt 150 ]; then remove_groups; fi
		[ -n "$(left_groups)" ] || return 0
		nap 0.02
	done
	echo "colocation: groups are left: $(left_groups | tr '\n' ' ')" >&2
	return 1
}
