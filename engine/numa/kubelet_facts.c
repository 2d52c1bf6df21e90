/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/kubelet_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* kubeReserved and systemReserved are maps of quantities, which YAML may read as
 * numbers. */
static int64_t reserved_of(const json_t *config, const char *name, bool is_milli)
{
	static const char *const maps[] = {"kubeReserved", "systemReserved"};
	int64_t sum = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(maps); i++) {
		const json_t *value =
			json_object_get(json_object_get(config, maps[i]), name);
		const char *text = json_string_value(value);
		char number[32];
		int64_t amount = 0;

		if (json_is_number(value)) {
			(void)snprintf(number, sizeof(number), "%.3f",
				       json_number_value(value));
			text = number;
		}
		if (!text ||
		    (is_milli ? neap_quantity_parse_milli(text, &amount, NULL)
			      : neap_quantity_parse_units(text, &amount, NULL)) < 0 ||
		    amount < 0)
			continue;
		sum = amount > INT64_MAX - sum ? INT64_MAX : sum + amount;
	}
	return sum;
}

static int read_options(const json_t *config, struct neap_kubelet_facts *ret,
			struct neap_error *err)
{
	json_t *asked = json_object_get(config, "cpuManagerPolicyOptions"), *value;
	const char *name;

	if (json_object_size(asked) == 0)
		return 0;
	ret->options = json_object();
	if (!ret->options)
		return neap_error_nomem(err);
	json_object_foreach (asked, name, value) {
		/* Without quotes YAML makes booleans of them. */
		const char *text = json_is_true(value)    ? "true"
				   : json_is_false(value) ? "false"
							  : json_string_value(value);

		if (text &&
		    json_object_set_new(ret->options, name, json_string(text)) < 0)
			return neap_error_nomem(err);
	}
	return 0;
}

static void add_told(struct neap_cpuset *to, const json_t *cpus)
{
	const char *text = json_string_value(cpus);
	struct neap_cpuset some;

	if (text && neap_cpuset_parse_told(&some, text, NULL) == 0)
		neap_cpuset_or(to, to, &some);
}

/* {"uid": {"container": "0-3"}}; older kubelets have {"container": "0-3"} without
 * pods. */
static int read_pods(const json_t *state, struct neap_kubelet_facts *ret,
		     struct neap_error *err)
{
	json_t *entries = json_object_get(state, "entries"), *containers, *cpus;
	const char *uid, *name;

	if (json_object_size(entries) > NEAP_KUBELET_PODS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "entries: more than %d pods have CPUs of their own",
				      NEAP_KUBELET_PODS_MAX);
	if (json_object_size(entries) == 0)
		return 0;
	ret->pods = neap_alloc_array(json_object_size(entries), sizeof(*ret->pods));
	if (!ret->pods)
		return neap_error_nomem(err);
	json_object_foreach (entries, uid, containers) {
		struct neap_kubelet_pod *pod = &ret->pods[ret->pod_count];

		add_told(&ret->unnamed, containers);
		if (*uid == '\0' || !neap_strcopy(pod->uid, sizeof(pod->uid), uid))
			continue;
		neap_cpuset_clear(&pod->cpus);
		json_object_foreach (containers, name, cpus) {
			add_told(&pod->cpus, cpus);
		}
		ret->pod_count += !neap_cpuset_is_empty(&pod->cpus);
	}
	return 0;
}

static int compare_pods(const void *a, const void *b)
{
	const struct neap_kubelet_pod *x = a, *y = b;

	return strcmp(x->uid, y->uid);
}

int neap_kubelet_facts_read(const json_t *state, const json_t *config,
			    struct neap_kubelet_facts *ret, struct neap_error *err)
{
	const char *policy = neap_json_text(state, "policyName");
	int failed = 0;

	memset(ret, 0, sizeof(*ret));
	ret->is_here = json_is_object(state) || json_is_object(config);
	if (*policy == '\0')
		policy = neap_json_text(config, "cpuManagerPolicy");
	(void)neap_strcopy(ret->cpu_policy, sizeof(ret->cpu_policy),
			   *policy != '\0' ? policy : "none");
	policy = neap_json_text(config, "topologyManagerPolicy");
	(void)neap_strcopy(ret->topology_policy, sizeof(ret->topology_policy),
			   *policy != '\0' ? policy : "none");
	ret->is_pod_scope = neap_json_is_text(config, "topologyManagerScope", "pod");
	if (neap_cpuset_parse_told(&ret->reserved,
				   neap_json_text(config, "reservedSystemCPUs"),
				   NULL) < 0)
		neap_cpuset_clear(&ret->reserved);
	ret->reserved_milli = reserved_of(config, "cpu", true);
	ret->reserved_bytes = reserved_of(config, "memory", false);
	failed = read_options(config, ret, err);
	if (failed == 0)
		failed = read_pods(state, ret, err);
	if (failed == 0 && ret->pod_count > 1)
		qsort(ret->pods, ret->pod_count, sizeof(*ret->pods), compare_pods);
	return failed;
}

void neap_kubelet_facts_done(struct neap_kubelet_facts *facts)
{
	json_decref(facts->options);
	free(facts->pods);
	memset(facts, 0, sizeof(*facts));
}
