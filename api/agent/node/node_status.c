/* SPDX-License-Identifier: Apache-2.0
 *
 * The status of this machine's Node: capacity, allocatable, conditions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/agent/node/node_keep_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/numa/node_reserve.h"

/* Limits of a kubelet, except for the disk: a tenth of a large disk is not a shortage. */
#define MEMORY_LEFT_BYTES ((int64_t)100 * 1024 * 1024)
#define DISK_LEFT_BYTES   ((int64_t)1024 * 1024 * 1024)
#define DISK_LEFT_PART    10
#define PRESSURE_USEC     (300 * 1000000LL)
#define KUBELET_VERSION   "v1.31.0+neap-" NEAP_VERSION

/* --- constant values --- */

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void read_os_image(char *to, size_t size)
{
	char text[4096], *at;
	bool is_quoted;

	(void)neap_file_head("/etc/os-release", text, sizeof(text));
	at = strncmp(text, "PRETTY_NAME=", 12) == 0 ? text
						    : strstr(text, "\nPRETTY_NAME=");
	at = at ? strchr(at, '=') + 1 : strchr(text, '\0');
	is_quoted = *at == '"' || *at == '\'';
	at[strcspn(at, "\n")] = '\0';
	if (is_quoted)
		at[1 + strcspn(at + 1, *at == '"' ? "\"" : "'")] = '\0';
	(void)neap_strcopy(to, size, at + is_quoted);
	if (!to[0])
		(void)neap_strcopy(to, size, "Linux");
}

/* Architectures have Go's names. */
static void read_kernel(struct node_facts *facts)
{
	static const char *const archs[][2] = {
		{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "386"}};
	struct utsname name;

	if (uname(&name) < 0)
		return;
	(void)neap_strcopy(facts->kernel, sizeof(facts->kernel), name.release);
	(void)neap_strcopy(facts->arch, sizeof(facts->arch), name.machine);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(archs); i++)
		if (strcmp(archs[i][0], name.machine) == 0)
			(void)neap_strcopy(facts->arch, sizeof(facts->arch), archs[i][1]);
}

void node_facts_read(const char *sys_root, struct node_facts *ret)
{
	char path[512];

	memset(ret, 0, sizeof(*ret));
	(void)snprintf(path, sizeof(path), "%s/proc/sys/kernel/random/boot_id",
		       sys_root ? sys_root : "");
	read_kernel(ret);
	read_os_image(ret->os_image, sizeof(ret->os_image));
	(void)neap_file_line(path, ret->boot_id, sizeof(ret->boot_id));
	(void)neap_file_line("/etc/machine-id", ret->machine_id, sizeof(ret->machine_id));
}

/* --- amounts --- */

struct amounts {
	int64_t cpu_milli, memory_bytes, disk_bytes, pods;
};

static int cpu_count(const struct node_state *state)
{
	const struct neap_topology *topology =
		state->config->node ? neap_node_topology(state->config->node) : NULL;
	long count;

	if (topology && topology->cpu_count > 0)
		return topology->cpu_count;
	count = sysconf(_SC_NPROCESSORS_ONLN);
	return count > 0 ? (int)count : 1;
}

static int64_t memory_bytes(const struct node_state *state)
{
	int64_t bytes;

	if (!state->config->node)
		return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	bytes = neap_node_memory_bytes(state->config->node);
	return bytes == NEAP_MISSING ? 0 : bytes;
}

static int64_t positive(int64_t amount)
{
	return amount > 0 ? amount : 0;
}

/* Reads the amounts that the annotation reserves. A wrong annotation reserves nothing,
 * and neither does one for CPU numbers only. False without memory. */
static bool read_reservation(const json_t *node, struct amounts *ret)
{
	const char *text = json_string_value(json_object_get(
		json_object_get(json_object_get(node, "metadata"), "annotations"),
		NEAP_KEY_NODE_RESERVATION));
	struct neap_resources *names;
	struct neap_node_reserve kept;
	json_error_t where;
	json_t *asked = NULL;
	int failed;

	memset(ret, 0, sizeof(*ret));
	if (!text)
		return true;
	names = neap_resources_new();
	failed = names ? neap_json_parse(text, strlen(text), 0, &asked, &where)
		       : -NEAP_ENOMEM;
	if (failed == 0)
		failed = neap_node_reserve_read(asked, names, &kept, NULL);
	if (failed == 0 && !kept.is_only_cpus) {
		/* A CPU list that cannot be read reserves nothing; the CPU amount does
		 * not replace it. */
		ret->cpu_milli =
			*kept.cpu_text && !kept.has_cpus
				? 0
				: neap_amounts_get(&kept.amounts, NEAP_RESOURCE_CPU);
		ret->memory_bytes = neap_amounts_get(&kept.amounts, NEAP_RESOURCE_MEMORY);
		ret->disk_bytes =
			neap_amounts_get(&kept.amounts, NEAP_RESOURCE_EPHEMERAL);
	}
	neap_resources_free(names);
	json_decref(asked);
	return failed != -NEAP_ENOMEM;
}

static json_t *amounts_json(const struct amounts *amounts)
{
	char cpu[32], memory[32], disk[32], pods[32];

	(void)snprintf(pods, sizeof(pods), "%lld", (long long)amounts->pods);
	return json_pack(
		"{s:s, s:s, s:s, s:s*}", "cpu",
		neap_quantity_format_milli(amounts->cpu_milli, cpu, sizeof(cpu)),
		"memory",
		neap_quantity_format_bytes(amounts->memory_bytes, memory, sizeof(memory)),
		"pods", pods, "ephemeral-storage",
		amounts->disk_bytes == NEAP_MISSING
			? NULL
			: neap_quantity_format_bytes(amounts->disk_bytes, disk,
						     sizeof(disk)));
}

/* --- conditions --- */

static bool is_on(struct node_pressure *pressure, bool is_seen, int64_t now)
{
	if (is_seen)
		pressure->until = now + PRESSURE_USEC;
	/* A clock that was set back ends it too. */
	pressure->is_on = is_seen || (pressure->is_on && now < pressure->until &&
				      pressure->until - now <= PRESSURE_USEC);
	return pressure->is_on;
}

static bool is_short_of_memory(const struct node_state *state)
{
	const struct neap_sample *sample =
		state->config->node ? neap_node_sample(state->config->node) : NULL;

	return sample && sample->memory_used_bytes != NEAP_MISSING &&
	       sample->memory_capacity_bytes - sample->memory_used_bytes <
		       MEMORY_LEFT_BYTES;
}

static bool is_short_of_disk(const struct statvfs *disk)
{
	int64_t size = (int64_t)(disk->f_blocks * disk->f_frsize);
	int64_t left = (int64_t)(disk->f_bavail * disk->f_frsize);

	return size > 0 && left < DISK_LEFT_BYTES && left < size / DISK_LEFT_PART;
}

const char *node_why_not_ready(const struct node_state *state)
{
	const char *why = "neapd is starting";

	if (!state->config->runs_pods)
		return "neapd runs without --run-pods";
	if (state->config->node && !neap_node_is_ready(state->config->node, &why))
		return why;
	return NULL;
}

const char *node_condition_status(const json_t *status, const char *type)
{
	return neap_json_text(neap_json_condition(status, type), "status");
}

struct condition {
	const char *type, *status, *reason, *message;
};

static json_t *condition_json(const struct condition *condition, const json_t *before,
			      const char *now, bool is_beat)
{
	const char *beat = neap_json_text(before, "lastHeartbeatTime");
	const char *since = neap_json_text(before, "lastTransitionTime");
	bool is_same = strcmp(neap_json_text(before, "status"), condition->status) == 0;

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", condition->type,
			 "status", condition->status, "lastHeartbeatTime",
			 is_same && beat[0] && !is_beat ? beat : now,
			 "lastTransitionTime", is_same && since[0] ? since : now,
			 "reason", condition->reason, "message", condition->message);
}

/* A merge patch contains the whole list, so conditions of other writers keep their
 * places. */
static json_t *conditions_json(const struct condition *own, size_t count,
			       const json_t *status, int64_t now, bool is_beat)
{
	const json_t *list = json_object_get(status, "conditions");
	json_t *made = json_array();
	json_t *condition;
	char time[32];
	size_t i, j;

	(void)neap_time_format(now, 0, time, sizeof(time));
	json_array_foreach (list, i, condition) {
		const char *type = neap_json_text(condition, "type");

		for (j = 0; j < count && strcmp(own[j].type, type) != 0; j++)
			continue;
		if (j == count)
			(void)json_array_append(made, condition);
	}
	for (j = 0; j < count; j++)
		(void)json_array_append_new(
			made,
			condition_json(&own[j], neap_json_condition(status, own[j].type),
				       time, is_beat));
	return made;
}

static json_t *make_conditions(struct node_state *state, const json_t *status,
			       const struct statvfs *disk, int64_t now, bool is_beat)
{
	const char *why = node_why_not_ready(state);
	bool memory = is_on(&state->memory, is_short_of_memory(state), now);
	bool full = is_on(&state->disk, is_short_of_disk(disk), now);
	const struct condition own[] = {
		{"MemoryPressure", memory ? "True" : "False",
		 memory ? "KubeletHasInsufficientMemory" : "KubeletHasSufficientMemory",
		 memory ? "kubelet has insufficient memory available"
			: "kubelet has sufficient memory available"},
		{"DiskPressure", full ? "True" : "False",
		 full ? "KubeletHasDiskPressure" : "KubeletHasNoDiskPressure",
		 full ? "kubelet has disk pressure" : "kubelet has no disk pressure"},
		/* Each container has its own limit. */
		{"PIDPressure", "False", "KubeletHasSufficientPID",
		 "kubelet has sufficient PID available"},
		{"Ready", why ? "False" : "True",
		 why ? "KubeletNotReady" : "KubeletReady",
		 why ? why : "neapd is posting ready status"},
	};

	return conditions_json(own, NEAP_ARRAY_LEN(own), status, now, is_beat);
}

/* --- the whole --- */

static json_t *make_info(const struct node_facts *facts)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
			 "architecture", facts->arch, "bootID", facts->boot_id,
			 "containerRuntimeVersion", "neap://" NEAP_VERSION,
			 "kernelVersion", facts->kernel, "kubeProxyVersion", "",
			 "kubeletVersion", KUBELET_VERSION, "machineID",
			 facts->machine_id, "operatingSystem", "linux", "osImage",
			 facts->os_image, "systemUUID", facts->machine_id);
}

json_t *node_status_make(struct node_state *state, const json_t *node, int64_t now,
			 bool is_beat)
{
	const struct neap_node_keep_config *config = state->config;
	struct statvfs disk = {0};
	bool has_disk = config->data_dir && statvfs(config->data_dir, &disk) == 0;
	struct amounts capacity = {
		.cpu_milli = cpu_count(state) * 1000LL,
		.memory_bytes = memory_bytes(state),
		.disk_bytes = has_disk ? (int64_t)(disk.f_blocks * disk.f_frsize)
				       : NEAP_MISSING,
		.pods = config->pods_max,
	};
	struct amounts kept, left = capacity;

	if (!read_reservation(node, &kept))
		return NULL;
	left.cpu_milli =
		positive(left.cpu_milli - config->kube_reserved_milli - kept.cpu_milli);
	left.memory_bytes = positive(left.memory_bytes - config->kube_reserved_bytes -
				     kept.memory_bytes);
	if (has_disk)
		left.disk_bytes = positive(left.disk_bytes - kept.disk_bytes);
	return json_pack("{s:o, s:o, s:o, s:[{s:s, s:s}, {s:s, s:s}], s:o, "
			 "s:{s:{s:i}}}",
			 "capacity", amounts_json(&capacity), "allocatable",
			 amounts_json(&left), "conditions",
			 make_conditions(state, json_object_get(node, "status"), &disk,
					 now, is_beat),
			 "addresses", "type", "InternalIP", "address", "127.0.0.1",
			 "type", "Hostname", "address", config->node_name, "nodeInfo",
			 make_info(&state->facts), "daemonEndpoints", "kubeletEndpoint",
			 "Port", config->port);
}

bool node_status_is_within(const json_t *status, const json_t *patch)
{
	const char *name;
	json_t *value;

	if (json_is_null(patch))
		return !status || json_is_null(status);
	if (!json_is_object(patch))
		return json_equal((json_t *)(uintptr_t)status,
				  (json_t *)(uintptr_t)patch);
	json_object_foreach ((json_t *)(uintptr_t)patch, name, value) {
		if (!node_status_is_within(json_object_get(status, name), value))
			return false;
	}
	return json_is_object(status);
}
