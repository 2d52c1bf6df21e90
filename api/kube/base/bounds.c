/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/base/bounds.h"

#define SMALL 20 /* the smallest bound */

/* Kubernetes' own bounds where it has some; else several times the largest size known in
 * use. Sorted by name. t/test_kube_wide.c sends each list of each kind over its bound. */
static const struct neap_schema_bound rows[] = {
	{"add", 64}, /* capabilities */
	{"additionalPrinterColumns", 64},
	{"addresses", 256},
	{"annotations", 8192}, /* 256 KiB in total */
	{"args", 4096},
	{"binaryData", 16384},
	{"command", 4096},
	{"conditions", 256},
	{"containerStatuses", 256},
	{"containers", 256},
	{"data", 16384},
	{"disruptedPods", 16384},
	{"drop", 64},
	{"enum", 20000},
	{"env", 4096},
	{"envFrom", 256},
	{"ephemeralContainerStatuses", 256},
	{"ephemeralContainers", 256},
	{"failed", 16384},
	{"finalizers", 256},
	{"hostnames", 256},
	{"imagePullSecrets", 256},
	{"images", 4096},
	{"initContainerStatuses", 256},
	{"initContainers", 256},
	{"labels", 1024},
	{"matchExpressions", 256},
	{"matchFields", 256},
	{"matchLabels", 256},
	{"nodeSelector", 256},
	{"nodeSelectorTerms", 256},
	{"onPodConditions", 20},
	{"options", 64},
	{"parameters", 512}, /* StorageClass */
	{"ports", 4096},
	{"preferredDuringSchedulingIgnoredDuringExecution", 256},
	{"properties", 20000},
	{"readinessGates", 64},
	{"required", 20000},
	{"requiredDuringSchedulingIgnoredDuringExecution", 256},
	{"resourceClaims", 256},
	{"rules", 20}, /* policies of a Job */
	{"schedulingGates", 64},
	{"searches", 32},
	{"succeeded", 16384},
	{"taints", 256},
	{"tolerations", 256},
	{"topologySpreadConstraints", 64},
	{"values", 4096},
	{"volumeMounts", 1024},
	{"volumes", 1024},
	{"volumesAttached", 4096},
	{"volumesInUse", 4096},
};

static const struct neap_schema_bounds bounds = {
	.rows = rows,
	.count = NEAP_ARRAY_LEN(rows),
	.other = 1024,
	.least = SMALL,
};

size_t neap_kube_check_bounds(const struct neap_kube_kind *kind, const json_t *object,
			      const json_t *before, struct neap_causes *causes)
{
	size_t from = causes->count;

	if (!kind->is_custom)
		return neap_schema_check_bounds(&bounds, object, before, causes);
	(void)neap_schema_check_bounds(&bounds, json_object_get(object, "metadata"),
				       json_object_get(before, "metadata"), causes);
	neap_causes_infield(causes, from, "metadata");
	return neap_schema_values(object);
}
