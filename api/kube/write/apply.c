/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-side apply: PATCH with application/apply-patch+yaml. The manager's configuration
 * is merged into the object. Fields that it applied before and omits now are removed,
 * unless another manager owns them. Changing other managers' fields is a conflict. The
 * rest is an ordinary write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "api/kube/base/meta.h"
#include "api/kube/request/slow.h"
#include "api/kube/write/write.h"
#include "engine/json/json.h"

/* --- what is applied --- */

struct unknown {
	char path[200];
};

static void note_unknown(void *arg, const char *path)
{
	struct unknown *unknown = arg;

	if (!unknown->path[0])
		(void)neap_strcopy(unknown->path, sizeof(unknown->path), path);
}

static int refuse_config(struct call *call, const char *field, const char *why)
{
	return call_bad(call, "failed to create typed patch object: .%s: %s", field, why);
}

/* The named fields must fit the schema; they become apply->set. */
static int read_config(struct call *call, json_t *config, struct apply *apply)
{
	const struct neap_kube_kind *kind = call->target.kind;
	const json_t *meta = json_object_get(config, "metadata");
	const json_t *name = json_object_get(meta, "name");
	const char *manager = call_query(call, "fieldManager");
	const char *ns = neap_kube_meta_text(config, "namespace");
	json_auto_t *alone = NULL;
	struct unknown unknown = {{0}};
	struct neap_error err = {0};

	if (json_is_null(meta)) { /* counts as missing */
		(void)json_object_del(config, "metadata");
		meta = NULL;
	}
	if (meta && !json_is_object(meta))
		return refuse_config(call, "metadata", "must be an object");
	if (json_is_null(name)) /* null removes it */
		return call_check_named(call, config);
	if (kind->is_namespaced && *ns && strcmp(ns, call->target.ns) != 0)
		return call_bad(call,
				"the namespace of the object (%.63s) does not match the "
				"namespace on the request (%s)",
				ns, call->target.ns);
	if (json_is_array(json_object_get(meta, "managedFields")))
		return call_bad(call, "metadata.managedFields must be nil");
	if (call_check_bounds(call, config, NULL) < 0)
		return -1;
	if (!neap_schema_prune(kind->schema, config, note_unknown, &unknown))
		return call_nomem(call);
	if (unknown.path[0])
		return refuse_config(call, unknown.path, "field not declared in schema");
	if (manager && strcmp(manager, "kubectl") == 0 &&
	    apply_annotation(config, &apply->annotation) < 0)
		return call_nomem(call);
	switch (apply_set_of(kind->schema, config, APPLY_NAMED, &apply->set, &err)) {
	case 0:
		break;
	case -NEAP_EINVAL:
		return refuse_config(call, err.field, err.msg);
	default:
		return call_nomem(call);
	}
	apply_strip(kind, apply_part(call), apply->set);
	/* The check at the end would find it too, but after all the work. */
	alone = json_pack("[{s:O}]", "fieldsV1", apply->set);
	if (!alone)
		return call_nomem(call);
	return apply_is_too_large(config, alone) ? apply_refuse_large(call) : 0;
}

/* --- what becomes of it --- */

static int create_take(struct call *call, json_t *config)
{
	const char *uid = neap_kube_meta_text(config, "uid");
	char why[160];

	(void)snprintf(why, sizeof(why),
		       "uid mismatch: the provided object specified uid %.60s, and no "
		       "existing object was found",
		       uid);
	if (call_check_named(call, config) < 0)
		; /* it reports the reason */
	else if (call->target.sub[0])
		(void)call_missing(call);
	else if (*uid)
		(void)call_conflict(call, why);
	else if (call_permit(call, "create", NULL, config) == 0 &&
		 call_permit_object(call, "create", NULL, config) == 0)
		return call_create_take(call, config);
	json_decref(config);
	return -1;
}

/* The object with config, and without what only this manager owned. Every apply patch
 * names the object, so metadata stays even if nothing else does. */
static int merge(struct call *call, const json_t *before, json_t *config, json_t *object)
{
	const struct neap_schema *schema = call->target.kind->schema;
	json_auto_t *kept = neap_json_deep_copy(call->apply->set);
	json_auto_t *name = kube_set_of_path(".metadata.name");
	const json_t *last = NULL;
	struct neap_error err = {0};

	(void)json_object_del(json_object_get(object, "metadata"), "managedFields");
	if (!kept || !name || apply_set_add(kept, name) < 0 ||
	    apply_last(call, before, &last, kept) < 0 ||
	    apply_merge(schema, object, config, &err) < 0 ||
	    (last && apply_prune(schema, object, last, kept, &err) < 0))
		return call_nomem(call);
	return 0;
}

static int change(struct call *call, json_t *config, const struct neap_object *newest)
{
	json_auto_t *before = neap_object_tree(newest);
	json_t *object = neap_json_deep_copy(before);

	if (!object)
		return call_nomem(call);
	if (merge(call, before, config, object) < 0) {
		json_decref(object);
		return -1;
	}
	return call_change_take(call, object, before, newest);
}

int call_apply(struct call *call)
{
	const struct neap_object *newest = call_newest(call);
	struct apply apply = {.is_forced = call_flag(call, "force")};
	json_t *config = NULL;
	int rc;

	call->apply = &apply;
	rc = body_apply(call, &config);
	if (rc == 0)
		rc = read_config(call, config, &apply);
	if (rc == 0)
		rc = newest ? change(call, config, newest)
			    : create_take(call, json_incref(config));
	call->apply = NULL;
	json_decref(config);
	json_decref(apply.set);
	free(apply.annotation);
	return rc;
}
