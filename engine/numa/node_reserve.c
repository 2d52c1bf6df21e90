/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/node_reserve.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"

int neap_node_reserve_read(const json_t *annotation, struct neap_resources *resources,
			   struct neap_node_reserve *ret, struct neap_error *err)
{
	const json_t *amounts = NULL;
	const char *policy = "";
	const struct neap_member rows[] = {
		{"resources", NEAP_MEMBER_OBJECT, &amounts},
		{"reservedCPUs", NEAP_MEMBER_TEXT, &ret->cpu_text},
		{"applyPolicy", NEAP_MEMBER_TEXT, &policy},
		{NULL}};
	neap_auto_free int *beyond = NULL;
	size_t beyond_count = 0;
	int64_t milli, count;
	int failed;

	memset(ret, 0, sizeof(*ret));
	ret->cpu_text = "";
	if (!annotation || json_is_null(annotation))
		return 0;
	if (!json_is_object(annotation))
		return neap_error_field(err, NEAP_EINVAL, NEAP_KEY_NODE_RESERVATION,
					"is no JSON object");
	failed = neap_members_take(annotation, rows, err);
	if (failed == 0)
		failed = neap_amounts_read(&ret->amounts, amounts, resources, err);
	if (failed < 0)
		return failed;
	ret->is_only_cpus = strcmp(policy, "ReservedCPUsOnly") == 0;
	if (*ret->cpu_text != '\0') {
		failed = neap_cpuset_parse_beyond(&ret->cpus, ret->cpu_text, &beyond,
						  &beyond_count, err);
		if (failed == -NEAP_ENOMEM)
			return failed;
		ret->has_cpus = failed == 0;
		/* Those that the machine cannot have count in the amount, as they do for
		 * others who read it. */
		count = neap_cpuset_count(&ret->cpus) + (int64_t)beyond_count;
		if (ret->has_cpus &&
		    !neap_amounts_set(&ret->amounts, NEAP_RESOURCE_CPU, count * 1000))
			return neap_error_set(err, NEAP_ETOOLARGE, "too many resources");
		return 0;
	}
	milli = neap_amounts_get(&ret->amounts, NEAP_RESOURCE_CPU);
	ret->cores = milli < NEAP_CPU_MAX * INT64_C(1000) ? (int)((milli + 999) / 1000)
							  : NEAP_CPU_MAX;
	return 0;
}

bool neap_node_reserve_trim(const struct neap_node_reserve *reserve,
			    const struct neap_resources *resources,
			    struct neap_amounts *allocatable)
{
	static const char batch[] = "kubernetes.io/batch-";
	bool has_changed = false;

	for (size_t i = 0; !reserve->is_only_cpus && i < allocatable->count; i++) {
		struct neap_amount *amount = &allocatable->of[i];
		int64_t kept = neap_amounts_get(&reserve->amounts, amount->resource);
		const char *name = neap_resources_name(resources, amount->resource);

		if (kept <= 0 || !name || strncmp(name, batch, sizeof(batch) - 1) == 0)
			continue;
		has_changed = has_changed || amount->amount > 0;
		amount->amount = amount->amount > kept ? amount->amount - kept : 0;
	}
	return has_changed;
}
