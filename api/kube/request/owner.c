/* SPDX-License-Identifier: Apache-2.0
 *
 * Owner references: merging duplicates, and finding the referenced object. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/request/call.h"
#include "api/kube/request/slow.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static void warn_of_twice(struct call *call, const json_t *owner)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	char warning[512];

	if (!call->request)
		return;
	(void)snprintf(
		warning, sizeof(warning),
		"299 - \".metadata.ownerReferences contains duplicate entries; API "
		"server dedups owner references in 1.20+, and may reject such "
		"requests as early as 1.24; please fix your requests; duplicate "
		"UID(s) observed: %.64s\"",
		uid && !strpbrk(uid, "\"\\") ? uid : "");
	(void)neap_http_header_add(call->request, "Warning",
				   warning); /* without memory fewer are reported */
}

int kube_owners_unite(struct call *call, json_t *object)
{
	json_t *metadata = json_object_get(object, "metadata"), *owner;
	json_t *list = json_object_get(metadata, "ownerReferences");
	json_auto_t *seen = NULL, *kept = NULL;
	const json_t *twice = NULL;
	size_t i;

	if (json_array_size(list) < 2)
		return 0;
	seen = json_object();
	kept = json_array();
	json_array_foreach (list, i, owner) {
		neap_auto_free char *text =
			neap_json_dump(owner, JSON_COMPACT | JSON_SORT_KEYS);

		if (!text || !kept)
			return call_nomem(call);
		if (json_object_get(seen, text)) {
			twice = owner;
			continue;
		}
		if (json_object_set_new(seen, text, json_true()) < 0 ||
		    json_array_append(kept, owner) < 0)
			return call_nomem(call);
	}
	if (!twice)
		return 0;
	warn_of_twice(call, twice);
	return json_object_set(metadata, "ownerReferences", kept) < 0 ? call_nomem(call)
								      : 0;
}

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
