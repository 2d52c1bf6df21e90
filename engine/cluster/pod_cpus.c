/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod says about CPUs of its own and NUMA nodes. Most pods say nothing: they have no such part. */
#include <string.h>

#include "engine/base/json.h"
#include "engine/cluster/pod_priv.h"

static int64_t cpu_of(const struct neap_pod *pod)
{
	for (size_t i = 0; i < pod->request_count; i++)
		if (pod->requests[i].resource == NEAP_RESOURCE_CPU)
			return pod->requests[i].amount;
	return 0;
}

/* NULL: it is not there. */
static const char *said(const json_t *map, const char *key)
{
	return json_string_value(json_object_get(map, key));
}

static bool keep(struct neap_pod *pod, const char *text, const char **ret)
{
	*ret = text && *text ? neap_arena_strdup(&pod->arena, text) : NULL;
	return !pod->arena.failed;
}

/* As the pod says it, whatever its class: it is what others keep away from. */
static int read_exclusive(const char *text, enum neap_cpu_exclusive *ret,
			  struct neap_error *err)
{
	json_error_t where;
	json_t *spec = NULL;
	const char *word;

	if (!text)
		return 0;
	if (neap_json_parse(text, strlen(text), 0, &spec, &where) == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	word = neap_pod_text(spec, "preferredCPUExclusivePolicy");
	*ret = strcmp(word, "PCPULevel") == 0       ? NEAP_EXCLUSIVE_PCPU
	       : strcmp(word, "NUMANodeLevel") == 0 ? NEAP_EXCLUSIVE_NUMA
						    : NEAP_EXCLUSIVE_NONE;
	json_decref(spec);
	return 0;
}

static int make_wishes(struct neap_pod_cpus *cpus, struct neap_cpu_wish_from *from,
		       struct neap_error *err)
{
	static const enum neap_cpu_bind binds[] = {NEAP_BIND_FULL_PCPUS,
						   NEAP_BIND_SPREAD};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(binds); i++) {
		int ret;

		from->default_bind = binds[i];
		ret = neap_cpu_wish_make(from, &cpus->wishes[i], err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int neap_pod_read_cpus(struct neap_pod *pod, const json_t *tree, struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	const json_t *notes = json_object_get(meta, "annotations");
	const json_t *labels = json_object_get(meta, "labels");
	const char *status = said(notes, NEAP_KEY_RESOURCE_STATUS);
	struct neap_cpu_wish_from from = {
		.qos = neap_qos_parse(neap_pod_text(labels, "koordinator.sh/qosClass")),
		.resource_spec = said(notes, NEAP_KEY_RESOURCE_SPEC),
		.numa_spec = said(notes, NEAP_KEY_NUMA_SPEC),
		.cpu_milli = cpu_of(pod)};
	bool has_class = from.qos == NEAP_QOS_LSE || from.qos == NEAP_QOS_LSR;
	struct neap_pod_cpus *cpus;
	int ret;

	if (!has_class && !from.resource_spec && !from.numa_spec && !status)
		return 0;
	cpus = neap_arena_alloc(&pod->arena, sizeof(*cpus));
	if (!cpus || !keep(pod, from.resource_spec, &cpus->spec) ||
	    !keep(pod, status, &cpus->status))
		return neap_error_nomem(err);
	pod->cpus = cpus;
	from.band =
		neap_band_of(said(labels, "koordinator.sh/priority-class"),
			     json_object_get(json_object_get(tree, "spec"), "priority")
				     ? &pod->priority
				     : NULL,
			     from.qos, NEAP_KUBE_BURSTABLE);
	ret = read_exclusive(cpus->spec, &cpus->exclusive, err);
	return ret < 0 ? ret : make_wishes(cpus, &from, err);
}

void neap_pod_cpu_wish(const struct neap_pod *pod, enum neap_cpu_bind default_bind,
		       struct neap_cpu_wish *ret)
{
	if (pod->cpus)
		*ret = pod->cpus->wishes[default_bind == NEAP_BIND_SPREAD];
	else
		*ret = (struct neap_cpu_wish){.cpu_milli = cpu_of(pod)};
}
