/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/workload_kinds.h"

#include <string.h>

#include "engine/json/json.h"

const struct neap_workload_kind neap_workload_kinds[NEAP_WORKLOAD_KINDS] = {
	{"replicasets.apps", "ReplicaSet"},
	{"deployments.apps", "Deployment"},
	{"statefulsets.apps", "StatefulSet"},
	{"replicationcontrollers", "ReplicationController"},
	{"clonesets.apps.kruise.io", "CloneSet"},
	{"statefulsets.apps.kruise.io", "StatefulSet.apps.kruise.io"},
};

const char *neap_workload_kind_of(const char *resource)
{
	for (size_t i = 0; i < NEAP_WORKLOAD_KINDS; i++)
		if (strcmp(neap_workload_kinds[i].resource, resource) == 0)
			return neap_workload_kinds[i].kind;
	return NULL;
}

/* Whether "KIND.GROUP" is that kind of that "GROUP/VERSION". */
static bool is_same(const char *full, const char *kind, const char *version)
{
	size_t len = strcspn(full, ".");
	const char *group = full + len + (full[len] == '.');

	return *group && strlen(kind) == len && strncmp(full, kind, len) == 0 &&
	       strncmp(version, group, strlen(group)) == 0 &&
	       version[strlen(group)] == '/';
}

const char *neap_workload_kind_of_owner(const json_t *owner)
{
	const char *kind = neap_json_text(owner, "kind");
	const char *version = neap_json_text(owner, "apiVersion");

	for (size_t i = 0; i < NEAP_WORKLOAD_KINDS; i++)
		if (is_same(neap_workload_kinds[i].kind, kind, version))
			return neap_workload_kinds[i].kind;
	return kind;
}

bool neap_workload_is_watched(const json_t *owner)
{
	const char *kind = neap_json_text(owner, "kind");
	const char *version = neap_json_text(owner, "apiVersion");

	for (size_t i = 0; i < NEAP_WORKLOAD_KINDS; i++) {
		const struct neap_workload_kind *row = &neap_workload_kinds[i];
		const char *group = row->resource + strcspn(row->resource, ".");
		size_t len = strcspn(row->kind, "."), of_group;

		group += *group == '.';
		of_group = strlen(group);
		if (strlen(kind) == len && strncmp(row->kind, kind, len) == 0 &&
		    strncmp(version, group, of_group) == 0 &&
		    (of_group == 0 || version[of_group] == '/'))
			return true;
	}
	return false;
}
