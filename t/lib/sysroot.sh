# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Machines as trees of files, for --sys-root: sourced by tests. One line for each CPU: its
# number, the number of its core in its package, of its package, of its NUMA node ("-":
# none), and what tells packages of the same number apart (optional).

# bits CPU...: a mask of CPUs as the kernel writes it.
bits()
{
	local word=() cpu i text=''
	for i in 0 1 2 3; do word[i]=0; done
	for cpu in "$@"; do word[cpu / 32]=$((word[cpu / 32] | 1 << cpu % 32)); done
	for i in 3 2 1 0; do text+=$(printf '%s%08x' "${text:+,}" "${word[i]}"); done
	echo "$text"
}

# sysroot DIR MEMORY_KB NODE_KB: makes the tree of the lines on its input.
sysroot()
{
	local dir=$1/sys/devices/system at row kind key name
	local cpus=() cores=() packages=() ids=() nodes=()
	declare -A of=() list=()
	mkdir -p "$1/proc" "$dir/cpu" "$dir/node" || return 1
	while read -r -a row; do
		[ "${#row[@]}" -ge 4 ] || continue
		cpus+=("${row[0]}") ids+=("${row[1]} ${row[2]}") packages+=("${row[2]}/${row[4]:-}")
		cores+=("${row[1]}/${row[2]}/${row[4]:-}") nodes+=("${row[3]}")
	done
	for at in "${!cpus[@]}"; do
		of["core ${cores[at]}"]+=" ${cpus[at]}"
		of["package ${packages[at]}"]+=" ${cpus[at]}"
		of["node ${nodes[at]}"]+=" ${cpus[at]}"
	done
	for at in "${!cpus[@]}"; do
		mkdir -p "$dir/cpu/cpu${cpus[at]}/topology"
		name=$dir/cpu/cpu${cpus[at]}/topology
		for kind in "core_cpus core ${cores[at]}" "thread_siblings core ${cores[at]}" \
			"package_cpus package ${packages[at]}" "core_siblings package ${packages[at]}"; do
			key=${kind#* }
			# shellcheck disable=SC2086  # several CPUs
			[ -n "${list[$key]:-}" ] || list[$key]=$(bits ${of[$key]})
			echo "${list[$key]}" >"$name/${kind%% *}"
		done
		echo "${ids[at]% *}" >"$name/core_id"
		echo "${ids[at]#* }" >"$name/physical_package_id"
	done
	for key in "${!of[@]}"; do
		case $key in 'node -') continue ;; node*) ;; *) continue ;; esac
		name=$dir/node/node${key#node }
		mkdir -p "$name"
		# shellcheck disable=SC2086
		bits ${of[$key]} >"$name/cpumap"
		printf 'Node %s MemTotal: %s kB\n' "${key#node }" "$3" >"$name/meminfo"
	done
	(IFS=,; echo "${cpus[*]}") | tee "$dir/cpu/online" "$dir/cpu/possible" >"$dir/cpu/present"
	printf 'MemTotal: %s kB\nMemFree: %s kB\nMemAvailable: %s kB\n' "$2" "$2" "$2" >"$1/proc/meminfo"
}
