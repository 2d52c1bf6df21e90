/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects that owner references name. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/request/call.h"
#include "api/kube/request/slow.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* The group of "apps/v1" is "apps"; the group of "v1" is core. */
static void group_of(const char *version, char *buf, size_t size)
{
	const char *slash = strchr(version, '/');
	size_t len = slash ? (size_t)(slash - version) : 0;

	if (len >= size)
		len = 0;
	memcpy(buf, version, len);
	buf[len] = '\0';
}

const struct neap_kube_kind *kube_owner_kind(struct neap_kube *kube, const json_t *owner)
{
	const char *version = json_string_value(json_object_get(owner, "apiVersion"));
	const char *name = json_string_value(json_object_get(owner, "kind"));
	const struct neap_kube_kind *kind;
	char group[NEAP_OBJECT_NAME];

	if (!version || !name || !json_is_string(json_object_get(owner, "name")) ||
	    !json_is_string(json_object_get(owner, "uid")))
		return NULL;
	group_of(version, group, sizeof(group));
	kind = neap_kube_registry_find_kind(kube->registry, group, NULL, name);
	/* An object that is not stored cannot own any. */
	return kind && !kind->make ? kind : NULL;
}

struct neap_object *kube_owner_find(struct neap_kube *kube, const char *ns,
				    const json_t *owner,
				    const struct neap_kube_kind **ret_kind)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	char resource[NEAP_STORE_RESOURCE];
	struct neap_object *found;

	*ret_kind = kube_owner_kind(kube, owner);
	if (!*ret_kind)
		return NULL;
	neap_kube_kind_resource(neap_kube_kind_stored(*ret_kind), resource,
				sizeof(resource));
	found = neap_store_newest(kube->store, resource,
				  (*ret_kind)->is_namespaced ? ns : "",
				  json_string_value(json_object_get(owner, "name")));
	return found && strcmp(found->uid, uid) == 0 ? found : NULL;
}
