/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod's requests: checked, stored, recorded and summed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/run/pods_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* --- input --- */

/* Letters, digits and the characters of more; the first is a letter or digit. */
static bool is_name(const char *text, size_t max, const char *more)
{
	size_t i;

	if (text == NULL || text[0] == '.' || text[0] == '-' || text[0] == '_')
		return false;
	for (i = 0; text[i] != '\0'; i++) {
		char c = text[i];

		if (i >= max || !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
				  strchr(more, c) != NULL))
			return false;
	}
	return i > 0;
}

static bool is_uid(const char *text)
{
	return is_name(text, NEAP_NODE_UID_MAX, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._");
}

/* Below low an amount is missing; else it is limited to least and the key's maximum. */
static int64_t bounded(int64_t amount, int64_t low, int64_t least, enum neap_key key)
{
	const struct neap_key_info *info = neap_key_get(key);

	if (amount < low)
		return NEAP_MISSING;
	if (amount < least)
		return least;
	return amount > info->max ? info->max : amount;
}

static void fill(struct pod_container *to, const struct neap_node_container *from)
{
	const struct neap_key_info *quota = neap_key_get(NEAP_KEY_CPU_MAX_MILLI);

	to->cpu_request_milli =
		bounded(from->cpu_request_milli, 0, 0, NEAP_KEY_CPU_MAX_MILLI);
	to->cpu_limit_milli =
		bounded(from->cpu_limit_milli, 1, quota->min, NEAP_KEY_CPU_MAX_MILLI);
	to->memory_limit_bytes =
		bounded(from->memory_limit_bytes, 1, 1, NEAP_KEY_MEMORY_MAX_BYTES);
	to->processes_max = bounded(from->processes_max, 1, 1, NEAP_KEY_PIDS_MAX);
}

static void fill_container(struct pod_container *to,
			   const struct neap_node_container *from)
{
	/* length is checked */
	(void)neap_strcopy(to->name, sizeof(to->name), from->name);
	to->is_init = from->is_init;
	fill(to, from);
}

static int check(const struct neap_node_pod *pod, struct neap_error *err)
{
	if (!is_uid(pod->uid))
		return neap_error_set(err, NEAP_EINVAL, "'%.64s' is no uid of a pod",
				      pod->uid == NULL ? "" : pod->uid);
	if (!is_name(pod->ns, 63, "-") || !is_name(pod->name, 253, "-."))
		return neap_error_set(err, NEAP_EINVAL, "pod %s has no name", pod->uid);
	if (pod->container_count > NEAP_NODE_CONTAINERS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "pod %s/%s has %zu containers, %d is the most",
				      pod->ns, pod->name, pod->container_count,
				      NEAP_NODE_CONTAINERS_MAX);
	for (size_t i = 0; i < pod->container_count; i++) {
		const char *name = pod->containers[i].name;

		if (!is_name(name, 63, "-"))
			return neap_error_set(err, NEAP_EINVAL,
					      "'%.64s' is no name of a container",
					      name == NULL ? "" : name);
		for (size_t j = 0; j < i; j++)
			if (strcmp(name, pod->containers[j].name) == 0)
				return neap_error_set(err, NEAP_EINVAL,
						      "two containers are named '%s'",
						      name);
	}
	return 0;
}

static struct pod_spec *spec_alloc(size_t count)
{
	struct pod_spec *spec =
		neap_alloc(sizeof(*spec) + count * sizeof(spec->containers[0]));

	if (spec != NULL)
		spec->count = count;
	return spec;
}

struct pod_spec *neap_pod_spec_new(const struct neap_node_pod *pod,
				   struct neap_error *err)
{
	struct pod_spec *spec;

	if (check(pod, err) < 0)
		return NULL;
	spec = spec_alloc(pod->container_count);
	if (spec == NULL) {
		(void)neap_error_nomem(err);
		return NULL;
	}
	/* Lengths are checked. */
	(void)neap_strcopy(spec->uid, sizeof(spec->uid), pod->uid);
	(void)neap_strcopy(spec->ns, sizeof(spec->ns), pod->ns);
	(void)neap_strcopy(spec->name, sizeof(spec->name), pod->name);
	spec->qos = pod->qos;
	spec->kube_qos = pod->kube_qos;
	for (size_t i = 0; i < spec->count; i++)
		fill_container(&spec->containers[i], &pod->containers[i]);
	fill(&spec->whole, &pod->whole);
	return spec;
}

/* A container's name has no dot. The one kernel file in a v1 group without a dot is this
 * one. No name ends in "-". */
const char *neap_pod_container_dir(const struct pod_container *container)
{
	return strcmp(container->name, "tasks") == 0 ? "tasks-" : container->name;
}

/* --- records --- */

static const struct {
	const char *name;
	size_t offset;
} amounts[] = {
	{"cpu_request_milli", offsetof(struct neap_node_container, cpu_request_milli)},
	{"cpu_limit_milli", offsetof(struct neap_node_container, cpu_limit_milli)},
	{"memory_limit_bytes", offsetof(struct neap_node_container, memory_limit_bytes)},
	{"processes_max", offsetof(struct neap_node_container, processes_max)},
};

static void write_amounts(json_t *row, const struct pod_container *container)
{
	neap_json_set_int(row, amounts[0].name, container->cpu_request_milli);
	neap_json_set_int(row, amounts[1].name, container->cpu_limit_milli);
	neap_json_set_int(row, amounts[2].name, container->memory_limit_bytes);
	neap_json_set_int(row, amounts[3].name, container->processes_max);
}

static void read_amounts(const json_t *row, struct neap_node_container *container)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(amounts); i++) {
		const json_t *number = json_object_get(row, amounts[i].name);
		int64_t *member = (int64_t *)((char *)container + amounts[i].offset);

		*member = json_is_integer(number) ? json_integer_value(number)
						  : NEAP_MISSING;
	}
}

json_t *neap_pod_spec_json(const struct pod_spec *spec)
{
	json_t *containers = json_array(), *pod = json_object();

	neap_json_set_text(pod, "namespace", spec->ns);
	neap_json_set_text(pod, "name", spec->name);
	neap_json_set_text(pod, "qos", neap_qos_name(spec->qos));
	neap_json_set_text(pod, "kube_qos", neap_kube_qos_name(spec->kube_qos));
	write_amounts(pod, &spec->whole);
	for (size_t i = 0; i < spec->count; i++) {
		const struct pod_container *container = &spec->containers[i];
		json_t *row = json_object();

		neap_json_set_text(row, "name", container->name);
		write_amounts(row, container);
		if (container->is_init)
			(void)json_object_set_new(row, "init", json_true());
		(void)json_array_append_new(containers, row);
	}
	(void)json_object_set_new(pod, "containers", containers);
	return json_pack("{s:o}", "pod", pod);
}

struct pod_spec *neap_pod_spec_of_json(const json_t *json, const char *uid)
{
	const json_t *containers = json_object_get(json, "containers");
	const char *qos = json_string_value(json_object_get(json, "qos"));
	const char *kube = json_string_value(json_object_get(json, "kube_qos"));
	struct neap_node_container list[NEAP_NODE_CONTAINERS_MAX] = {0};
	struct neap_node_pod pod = {
		.uid = uid,
		.ns = json_string_value(json_object_get(json, "namespace")),
		.name = json_string_value(json_object_get(json, "name")),
		.qos = neap_qos_parse(qos == NULL ? "" : qos),
		.containers = list,
		.container_count = json_array_size(containers),
	};

	read_amounts(json, &pod.whole);
	if (kube == NULL || neap_kube_qos_parse(kube, &pod.kube_qos, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < pod.container_count && i < NEAP_ARRAY_LEN(list); i++) {
		const json_t *row = json_array_get(containers, i);

		list[i].name = json_string_value(json_object_get(row, "name"));
		list[i].is_init = json_is_true(json_object_get(row, "init"));
		read_amounts(row, &list[i]);
	}
	return neap_pod_spec_new(&pod, NULL);
}

/* --- the pod as a whole --- */

struct total {
	int64_t beside, before;
	bool has_all, has_any;
};

static void total_add(struct total *total, const struct pod_container *container,
		      int64_t amount)
{
	if (amount == NEAP_MISSING) {
		total->has_all = false;
		return;
	}
	total->has_any = true;
	if (container->is_init) {
		if (amount > total->before)
			total->before = amount;
	} else if (__builtin_add_overflow(total->beside, amount, &total->beside)) {
		total->beside = INT64_MAX;
	}
}

static int64_t total_get(const struct total *total, bool is_for_all)
{
	if (!total->has_any || (is_for_all && !total->has_all))
		return NEAP_MISSING;
	return total->before > total->beside ? total->before : total->beside;
}

static int64_t up_to(int64_t amount, enum neap_key key)
{
	return amount > neap_key_get(key)->max ? neap_key_get(key)->max : amount;
}

void neap_pod_spec_sum(const struct pod_spec *spec, int64_t *ret_cpu_request_milli,
		       int64_t *ret_cpu_limit_milli, int64_t *ret_memory_limit_bytes)
{
	struct total request = {.has_all = true}, quota = request, memory = request;

	for (size_t i = 0; i < spec->count; i++) {
		const struct pod_container *container = &spec->containers[i];

		total_add(&request, container, container->cpu_request_milli);
		total_add(&quota, container, container->cpu_limit_milli);
		total_add(&memory, container, container->memory_limit_bytes);
	}
	*ret_cpu_request_milli = total_get(&request, false);
	*ret_cpu_limit_milli = up_to(total_get(&quota, true), NEAP_KEY_CPU_MAX_MILLI);
	*ret_memory_limit_bytes = total_get(&memory, true);
	if (spec->whole.cpu_request_milli > 0)
		*ret_cpu_request_milli = spec->whole.cpu_request_milli;
	if (spec->whole.cpu_limit_milli > 0)
		*ret_cpu_limit_milli = spec->whole.cpu_limit_milli;
	if (spec->whole.memory_limit_bytes > 0)
		*ret_memory_limit_bytes = spec->whole.memory_limit_bytes;
}
