/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod says about exclusive CPUs and NUMA nodes. Most pods say nothing and have no
 * such part. */
#include <string.h>

#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

/* NULL: it is not there. */
static const char *said(const json_t *map, const char *key)
{
	return json_string_value(json_object_get(map, key));
}

static bool keep(struct neap_pod *pod, const char *text, const char **ret)
{
	*ret = text ? neap_arena_strdup(&pod->arena, text) : NULL;
	return !text || *ret;
}

static const char *unless_empty(const char *text)
{
	return text && *text ? text : NULL;
}

/* As the pod says it, whatever its class: it is what others keep away from. */
static int read_exclusive(const char *text, enum neap_cpu_exclusive *ret,
			  struct neap_error *err)
{
	json_error_t where;
	neap_auto_json json_t *spec = NULL;
	const char *word;

	if (!text)
		return 0;
	if (neap_json_parse(text, strlen(text), 0, &spec, &where) == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	word = neap_json_text(spec, "preferredCPUExclusivePolicy");
	*ret = strcmp(word, "PCPULevel") == 0       ? NEAP_EXCLUSIVE_PCPU
	       : strcmp(word, "NUMANodeLevel") == 0 ? NEAP_EXCLUSIVE_NUMA
						    : NEAP_EXCLUSIVE_NONE;
	return 0;
}

/* By cpus->from. */
static int make_wishes(struct neap_pod_cpus *cpus, struct neap_error *err)
{
	static const enum neap_cpu_bind binds[] = {NEAP_BIND_FULL_PCPUS,
						   NEAP_BIND_SPREAD};
	int ret = neap_cpu_wishes_make(&cpus->from, binds, NEAP_ARRAY_LEN(binds),
				       cpus->wishes, err);

	cpus->spec = unless_empty(cpus->from.resource_spec);
	if (ret == 0 && cpus->wishes[0].is_binding)
		cpus->exclusive = cpus->wishes[0].exclusive;
	else if (read_exclusive(cpus->spec, &cpus->exclusive, err) < 0)
		ret = -NEAP_ENOMEM;
	return ret;
}

const struct neap_pod_cpus *neap_pod_renew_cpus(struct neap_pod *pod, const char *spec,
						const char *status)
{
	struct neap_pod_cpus *cpus = neap_arena_alloc(&pod->arena, sizeof(*cpus));

	if (!cpus)
		return NULL;
	*cpus = *pod->cpus;
	if (status && !keep(pod, unless_empty(status), &cpus->status))
		return NULL;
	if (spec &&
	    (!keep(pod, spec, &cpus->from.resource_spec) || make_wishes(cpus, NULL) < 0))
		return NULL;
	return cpus;
}

int neap_pod_read_cpus(struct neap_pod *pod, const json_t *tree, struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	const json_t *notes = json_object_get(meta, "annotations");
	const json_t *labels = json_object_get(meta, "labels");
	const char *status = said(notes, NEAP_KEY_RESOURCE_STATUS);
	const char *spec = said(notes, NEAP_KEY_RESOURCE_SPEC);
	const char *numa = said(notes, NEAP_KEY_NUMA_SPEC);
	enum neap_qos qos =
		neap_qos_parse(neap_json_text(labels, "koordinator.sh/qosClass"));
	struct neap_pod_cpus *cpus;

	if (qos != NEAP_QOS_LSE && qos != NEAP_QOS_LSR && !spec && !numa && !status)
		return 0;
	cpus = neap_arena_alloc(&pod->arena, sizeof(*cpus));
	if (!cpus || !keep(pod, spec, &cpus->from.resource_spec) ||
	    !keep(pod, unless_empty(status), &cpus->status) ||
	    !keep(pod, numa, &cpus->from.numa_spec))
		return neap_error_nomem(err);
	pod->cpus = cpus;
	cpus->from.qos = qos;
	cpus->from.cpu_milli = neap_pod_request(pod, NEAP_RESOURCE_CPU);
	cpus->from.band = neap_pod_class_read(tree).band;
	return make_wishes(cpus, err);
}

void neap_pod_cpu_wish(const struct neap_pod *pod, enum neap_cpu_bind default_bind,
		       struct neap_cpu_wish *ret)
{
	if (pod->cpus)
		*ret = pod->cpus->wishes[default_bind == NEAP_BIND_SPREAD];
	else
		*ret = (struct neap_cpu_wish){
			.cpu_milli = neap_pod_request(pod, NEAP_RESOURCE_CPU)};
}
