/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/serve/embedded.h"

#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/loops/budget_loop.h"
#include "api/kube/loops/crd_loop.h"
#include "api/kube/loops/event_ttl.h"
#include "api/kube/loops/gc.h"
#include "api/kube/request/call.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

struct neap_kube_embedded {
	struct neap_kube_collect *collect;
	struct neap_kube_budgets *budgets;
	struct neap_kube_expire *expire;
	struct neap_kube_declared *declared;
};

int neap_kube_embedded_start(const struct neap_kube_embedded_config *config,
			     struct neap_kube_embedded **ret, struct neap_error *err)
{
	struct neap_kube_embedded *embedded = neap_alloc(sizeof(*embedded));
	const struct neap_kube_expire_config expire = {.ttl_s = config->event_ttl_s};
	const struct neap_kube_declared_config declared = {
		.kube = config->kube, .folder = config->folder, .log = config->log};

	*ret = embedded;
	if (!embedded)
		return neap_error_nomem(err);
	if (neap_kube_bootstrap(config->kube, err) < 0 ||
	    neap_kube_collect_new(config->kube, &embedded->collect, err) < 0 ||
	    neap_kube_budgets_new(config->kube, &embedded->budgets, err) < 0 ||
	    neap_kube_expire_new(config->kube, &expire, &embedded->expire, err) < 0)
		return -(int)err->code;
	return neap_kube_declared_new(&declared, &embedded->declared, err);
}

void neap_kube_embedded_free(struct neap_kube_embedded *embedded)
{
	if (!embedded)
		return;
	neap_kube_expire_free(embedded->expire);
	neap_kube_budgets_free(embedded->budgets);
	neap_kube_collect_free(embedded->collect);
	neap_kube_declared_free(embedded->declared);
	free(embedded);
}

/* --- namespaces --- */

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
