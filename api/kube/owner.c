/* SPDX-License-Identifier: Apache-2.0
 *
 * From an owner reference to the object that it names. */
#include <string.h>

#include "api/kube/kube_priv.h"

/* The group of "apps/v1" is "apps"; of "v1" it is core. */
static void group_of(const char *version, char *buf, size_t size)
{
	const char *slash = strchr(version, '/');
	size_t len = slash ? (size_t)(slash - version) : 0;

	if (len >= size)
		len = 0;
	memcpy(buf, version, len);
	buf[len] = '\0';
}

struct neap_object *kube_owner_find(struct neap_kube *kube, const char *ns,
				    const json_t *owner,
				    const struct neap_kube_kind **ret_kind)
{
	const char *version = json_string_value(json_object_get(owner, "apiVersion"));
	const char *kind_name = json_string_value(json_object_get(owner, "kind"));
	const char *name = json_string_value(json_object_get(owner, "name"));
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	char resource[NEAP_STORE_RESOURCE], group[NEAP_OBJECT_NAME];
	struct neap_object *found;

	*ret_kind = NULL;
	if (!version || !kind_name || !name || !uid)
		return NULL;
	group_of(version, group, sizeof(group));
	*ret_kind = neap_kube_registry_find_kind(kube->registry, group, NULL, kind_name);
	/* What is not stored owns nothing. */
	if (*ret_kind && (*ret_kind)->make)
		*ret_kind = NULL;
	if (!*ret_kind)
		return NULL;
	neap_kube_kind_resource(neap_kube_kind_stored(*ret_kind), resource,
				sizeof(resource));
	found = neap_store_newest(kube->store, resource,
				  (*ret_kind)->is_namespaced ? ns : "", name);
	return found && strcmp(found->uid, uid) == 0 ? found : NULL;
}
