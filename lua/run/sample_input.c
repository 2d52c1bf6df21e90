/* SPDX-License-Identifier: Apache-2.0
 *
 * A default input per kind for policies without examples: an ordinary machine, pod or
 * reservation with all fields set. It is a row like those of `examples`; any answer but a
 * fault is accepted. */
#include <string.h>

#include <lauxlib.h>

#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"

#define CLASS(cpus, workloads)                                                           \
	"{ used_cores = 1.0, used_milli = 1000, max_milli = -1, cpus = '" cpus           \
	"', throttled_ratio = 0.0, cpu_pressure = 0.01, workloads = " workloads " }"
#define USE                                                                              \
	"used_cores = 1.0, used_milli = 1000, used_avg_cores = 1.0, used_p50_cores = "   \
	"1.0, used_p90_cores = 1.2, used_p95_cores = 1.3, used_p99_cores = 1.5, "
#define WORKLOAD(id, qos, kube_qos, more)                                                \
	"{ id = '" id "', name = '" id "', target = 'workload:" id                       \
	"', group = 'kubepods/pod" id "', source = 'kubelet', qos = '" qos               \
	"', kube_qos = '" kube_qos "', cpu_request_milli = 1000, cpu_limit_milli = "     \
	"2000, memory_limit_bytes = 1073741824, " USE "throttled_ratio = 0.0, "          \
	"memory_bytes = 268435456, cpu_pressure = 0.01, memory_pressure = 0.0, "         \
	"io_pressure = 0.0, cpus = '0-7', exclusive_cpus = '', max_milli = -1, "         \
	"processes = 3, " more " }"

const char neap_made_qos[] =
	"return { name = 'a made input', want = 'any', node = {\n"
	"now_unix = 1700000000, mono_usec = 1000000000, seconds = 1.0, "
	"capacity_milli = 8000, allocatable_milli = 8000, reserved_milli = 0, "
	"reserved_cpus = '', system_cpus = '', exclusive_cpus = '', " USE
	"stolen_ratio = 0.0, critical_used_milli = 2000, "
	"critical_used_avg_milli = 2000, besteffort_used_milli = 1000, "
	"system_used_milli = 200, memory_capacity_bytes = 17179869184, "
	"memory_used_bytes = 4294967296, cpu_pressure = 0.05, memory_pressure = 0.0, "
	"io_pressure = 0.0, critical_pressure = 0.02, kubelet_cpu_policy = 'none', "
	"topology = { cores = 4, threads = 2 }, besteffort = " CLASS(
		"0-7",
		"1") ", "
		     "burstable = " CLASS("0-7", "1") ",\nworkloads = { " WORKLOAD(
			     "web", "LS", "Burstable",
			     "is_critical = true") ", " WORKLOAD("batch", "BE",
								 "BestEffort",
								 "is_critical = false") " },\n"
											"supports = { 'cpu.max_milli', 'cpu.burst_usec', 'cpu.shares', 'cpu.idle', "
											"'cpuset.cpus', 'memory.max_bytes', 'memory.high_bytes', 'memory.low_bytes', "
											"'memory.min_bytes' },\ntrigger = 'stall' } }";

#define POD                                                                              \
	"pod = { name = 'web-0', namespace = 'default', uid = 'web-0', labels = { app "  \
	"= 'web' }, priority = 0, requests = { cpu = 500, memory = 268435456 } }"

const char neap_made_place[] =
	"return { name = 'a made input', want = 'any', " POD ",\nnodes = {\n"
	"empty = { labels = { ['kubernetes.io/hostname'] = 'empty' }, allocatable = { cpu "
	"= 8000, memory = 17179869184 } },\n"
	"busy = { labels = { ['kubernetes.io/hostname'] = 'busy' }, allocatable = { cpu = "
	"8000, memory = 17179869184 }, requested = { cpu = 6000, memory = 8589934592 }, "
	"load_share = { cpu = 0.5, memory = 0.4 }, pods = 3 } } }";

const char neap_made_reservation[] =
	"return { name = 'a made input', want = 'any', " POD ",\nreservation = { name = "
	"'kept', labels = { app = 'web' }, owners = { { labelSelector = { matchLabels = { "
	"app = 'web' } } } }, allocatable = { cpu = 1000, memory = 536870912 }, age_s = "
	"60, node = 'node-0' } }";

void neap_policy_push_row(lua_State *L, const struct neap_policy *policy, int index)
{
	const char *made = policy->kind->made;

	if (index) {
		neap_policy_push(L, policy, NEAP_REF_TABLE);
		neap_lua_get(L, -1, "examples");
		lua_rawgeti(L, -1, index);
		return;
	}
	if (luaL_loadbufferx(L, made, strlen(made), "=neap", "t") != LUA_OK)
		(void)lua_error(L); /* without memory */
	lua_call(L, 0, 1);
}

#define ROUND_POD(name, node)                                                            \
	"{ metadata = { name = '" name "', namespace = 'default', uid = '" name          \
	"', creationTimestamp = '2023-11-14T00:00:00Z', labels = { app = 'web' }, "      \
	"ownerReferences = { { kind = 'ReplicaSet', name = 'web', uid = 'web' } } }, "   \
	"spec = { nodeName = '" node                                                     \
	"', containers = { { name = 'c', image = 'web:1', resources = { requests = { "   \
	"cpu = '500m', memory = '256Mi' } } } } }, status = { phase = 'Running' } }"
#define ROUND_NODE(name)                                                                 \
	"{ metadata = { name = '" name                                                   \
	"', labels = { ['kubernetes.io/hostname'] = '" name                              \
	"' } }, status = { allocatable = { cpu = '8', memory = '16Gi', pods = "          \
	"'110' } } }"

const char neap_made_round[] =
	"return { name = 'a made input', want = 'any', pod = 'default/web-0', "
	"cluster = { nodes = { " ROUND_NODE("busy") ", " ROUND_NODE(
		"empty") " }, pods = { " ROUND_POD("web-0",
						   "busy") ", " ROUND_POD("web-1",
									  "busy") " } } }";

const char neap_made_order[] =
	"return { name = 'a made input', want = 'any', jobs = { { name = 'a', created_unix "
	"= 1, siblings = 0, pod = { namespace = 'default', name = 'web-0', class = 'prod', "
	"priority = 9000, kube_qos = 'Burstable', qos = 'LS', deletion_cost = 0, "
	"eviction_cost = 0, created_unix = 1 } }, { name = 'b', created_unix = 2, siblings "
	"= 0 } } }";

const char neap_made_leave[] =
	"return { name = 'a made input', want = 'any', pod = " ROUND_POD(
		"web-0",
		"busy") ", "
			"job = { metadata = { name = 'a' }, spec = { podRef = { namespace = 'default', name "
			"= 'web-0' } } } }";
