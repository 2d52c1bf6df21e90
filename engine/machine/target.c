/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/machine/target.h"

#include <string.h>

static const char workload[] = "workload:";

static const struct {
	const char *text;
	struct neap_target target;
} classes[] = {
	{"besteffort", {NEAP_SCOPE_CLASS, NEAP_KUBE_BESTEFFORT, NULL}},
	{"besteffort.pods", {NEAP_SCOPE_PODS, NEAP_KUBE_BESTEFFORT, NULL}},
	{"besteffort.containers", {NEAP_SCOPE_CONTAINERS, NEAP_KUBE_BESTEFFORT, NULL}},
	{"burstable", {NEAP_SCOPE_CLASS, NEAP_KUBE_BURSTABLE, NULL}},
	{"burstable.pods", {NEAP_SCOPE_PODS, NEAP_KUBE_BURSTABLE, NULL}},
	{"burstable.containers", {NEAP_SCOPE_CONTAINERS, NEAP_KUBE_BURSTABLE, NULL}},
};

bool neap_target_parse(const char *text, struct neap_target *ret, struct neap_error *err)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(classes); i++)
		if (strcmp(text, classes[i].text) == 0) {
			*ret = classes[i].target;
			return true;
		}
	if (strncmp(text, workload, strlen(workload)) == 0 && text[strlen(workload)]) {
		*ret = (struct neap_target){.scope = NEAP_SCOPE_WORKLOAD,
					    .id = text + strlen(workload)};
		return true;
	}
	(void)neap_error_set(
		err, NEAP_EINVAL,
		"there is no '%.40s'; there is besteffort and burstable, each "
		"also with .pods or .containers, and workload:ID",
		text);
	return false;
}
