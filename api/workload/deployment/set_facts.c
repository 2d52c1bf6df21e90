/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/deployment/set_facts.h"

#include <string.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

static int64_t annotation_number(const json_t *tree, const char *name)
{
	const char *text = neap_tree_entry(tree, "metadata.annotations", name);
	int64_t number;

	return *text && neap_int_parse(text, &number, NULL) == 0 ? number : NEAP_MISSING;
}

bool neap_set_facts_read(const struct neap_object *set, const json_t *tree, void *to)
{
	struct neap_set_facts *ret = to;
	const json_t *pods = neap_tree_at(tree, "spec.template");
	int64_t revision = annotation_number(tree, REVISION);

	*ret = (struct neap_set_facts){
		.version = set->version,
		.created_usec = neap_tree_time(tree, "metadata.creationTimestamp"),
		/* Anybody can write it. NEAP_MISSING is below 0 too. */
		.revision = revision < 0 || revision == INT64_MAX ? 0 : revision,
		.replicas = neap_tree_int(tree, "spec.replicas", 1),
		.status_replicas = neap_tree_int(tree, "status.replicas", 0),
		.ready = neap_tree_int(tree, "status.readyReplicas", 0),
		.available = neap_tree_int(tree, "status.availableReplicas", 0),
		.desired = annotation_number(tree, DESIRED_REPLICAS),
		.max = annotation_number(tree, MAX_REPLICAS),
		.is_deleting = set->is_deleting,
		.is_observed = neap_tree_int(tree, "metadata.generation", 0) <=
			       neap_tree_int(tree, "status.observedGeneration", 0),
		.has_failure = neap_tree_condition(tree, REPLICA_FAILURE) != NULL,
	};
	(void)neap_strcopy(ret->controller, sizeof(ret->controller),
			   neap_tree_text(neap_tree_controller(tree), "uid"));
	return !pods || neap_template_digest(pods, ret->pod_template);
}
