/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/serve/bootstrap.h"

#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/call.h"
#include "engine/json/json.h"

static const struct {
	const char *group, *plural, *name;
	const char *rest; /* of the object, besides its name */
} rows[] = {
	{"", "namespaces", "default", "{}"},
	{"", "namespaces", "kube-system", "{}"},
	{"", "namespaces", "kube-public", "{}"},
	{"", "namespaces", "kube-node-lease", "{}"},
	{"scheduling.k8s.io", "priorityclasses", "system-node-critical",
	 "{\"value\":2000001000,\"description\":\"Used for system critical pods that must not "
	 "be moved from their current node.\"}"},
	{"scheduling.k8s.io", "priorityclasses", "system-cluster-critical",
	 "{\"value\":2000000000,\"description\":\"Used for system critical pods that must run "
	 "in the cluster, but can be moved to another node if necessary.\"}"},
};

/* NULL without memory. */
static json_t *make(struct neap_kube *kube, const struct neap_kube_kind *kind,
		    const char *name, const char *rest)
{
	json_t *object = NULL;
	json_error_t where;

	if (neap_json_parse(rest, strlen(rest), 0, &object, &where) == 0 &&
	    json_object_set_new(object, "metadata", json_pack("{s:s}", "name", name)) ==
		    0 &&
	    neap_kube_meta_begin(kind, object, "", kube->now()) &&
	    neap_schema_default(kind->schema, object) &&
	    (!kind->complete || kind->complete(object)))
		return object;
	json_decref(object);
	return NULL;
}

int neap_kube_bootstrap(struct neap_kube *kube, struct neap_error *err)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct neap_kube_kind *kind = neap_kube_registry_find(
			kube->registry, rows[i].group, NULL, rows[i].plural);
		struct neap_store_write write = {
			.verb = NEAP_STORE_CREATE, .ns = "", .name = rows[i].name};
		char resource[NEAP_STORE_RESOURCE];
		int ret;

		if (!kind)
			continue;
		neap_kube_kind_resource(kind, resource, sizeof(resource));
		if (neap_store_newest(kube->store, resource, "", rows[i].name))
			continue;
		write.resource = resource;
		write.fields = kind->fields;
		write.object = make(kube, kind, rows[i].name, rows[i].rest);
		if (!write.object)
			return neap_error_nomem(err);
		ret = neap_store_write_take(kube->store, &write, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}
