/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and updates: from the client's body to a complete, valid object, to the store,
 * and to the response when it is durable. All up to the store happens in one turn,
 * against the newest accepted state, so no two changes miss each other. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "api/kube/base/meta.h"
#include "api/kube/base/view.h"
#include "api/kube/request/slow.h"
#include "api/kube/rules/rules.h"
#include "api/kube/write/write.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* A write that is not durable yet. request is NULL if its client has disconnected. */
struct pending {
	struct call call;
	int status;
};

static void client_gone(void *arg)
{
	struct pending *pending = arg;

	pending->call.request = NULL;
}

static void write_done(void *arg, struct neap_object *object,
		       const struct neap_error *err)
{
	struct pending *pending = arg;
	struct call *call = &pending->call;

	if (call->request && object) {
		if (call_answer_object(call, pending->status, object) < 0)
			call_fail(call);
	} else if (object) {
		call_tell(call, object);
	} else {
		(void)call_error(call, err);
		call_fail(call);
	}
	(void)neap_kube_kind_unref(call->target.kind);
	free(pending);
}

int call_store_take(struct call *call, int status, enum neap_store_verb verb,
		    json_t *object, int64_t version)
{
	struct pending *pending = neap_alloc(sizeof(*pending));
	struct neap_store_write write = {
		.verb = verb,
		.resource = call->resource,
		.ns = call->target.ns,
		.name = call->target.name,
		.object = object,
		.fields = neap_kube_kind_stored(call->target.kind)->fields,
		.version = version,
		.done = write_done,
		.arg = pending,
	};
	struct neap_error err;

	if (!pending || !kube_managers_last(object)) {
		free(pending);
		json_decref(object);
		return call_nomem(call);
	}
	pending->call = *call;
	pending->call.apply = NULL; /* belongs to the caller */
	pending->status = status;
	(void)neap_kube_kind_ref(call->target.kind);
	if (neap_store_write_take(call->kube->store, &write, &err) < 0) {
		(void)neap_kube_kind_unref(call->target.kind);
		free(pending);
		return call_error(call, &err);
	}
	if (call->kube->cpus && call_is_of_pods(call))
		kube_cpus_note(call);
	if (call->request)
		neap_http_defer(call->request, client_gone, pending);
	call->request = NULL;
	call->told = NULL; /* belongs to the write now */
	call->client_told = NULL;
	return 0;
}

/* --- creating --- */

int call_check_ending(struct call *call, const char *name)
{
	struct neap_causes *causes = &call->kube->causes;
	const char *ns = call->target.ns;
	const struct neap_object *place =
		neap_store_newest(call->kube->store, "namespaces", "", ns);
	char why[128];

	if (!place || !place->is_deleting)
		return 0;
	(void)snprintf(why, sizeof(why),
		       "unable to create new content in namespace %s because it is being "
		       "terminated",
		       ns);
	(void)neap_kube_fail_refused(&call->failure, call->target.kind, name, why);
	neap_causes_clear(causes);
	neap_causes_add(causes, "NamespaceTerminating", "metadata.namespace",
			"namespace %s is being terminated", ns);
	call->failure.causes = causes;
	return -1;
}

/* The name for messages when a new object is refused before it has one. */
static const char *name_to_be(const json_t *object)
{
	const char *name = neap_kube_meta_text(object, "name");

	if (!*name)
		name = neap_kube_meta_text(object, "generateName");
	return *name ? name : "Unknown";
}

static int check_namespace(struct call *call, const json_t *object)
{
	const char *ns = neap_kube_meta_text(object, "namespace");
	const struct neap_kube_kind *kind;

	if (!call->target.kind->is_namespaced) {
		/* Kinds without namespaces ignore it. */
		(void)json_object_del(json_object_get(object, "metadata"), "namespace");
		return 0;
	}
	if (*ns && strcmp(ns, call->target.ns) != 0)
		return call_bad(call,
				"the namespace of the provided object does not match the "
				"namespace sent on the request");
	kind = neap_kube_registry_find(call->kube->registry, "", NULL, "namespaces");
	if (kind &&
	    !neap_store_newest(call->kube->store, "namespaces", "", call->target.ns))
		return neap_kube_fail_missing(&call->failure, kind, call->target.ns);
	return call_check_ending(call, name_to_be(object));
}

static int make_new(struct call *call, json_t *object)
{
	const char *version;

	if (call_need_metadata(call, object) < 0 || check_namespace(call, object) < 0 ||
	    (call->target.kind->is_custom && call_check_declared(call) < 0))
		return -1;
	json_decref(kube_managers_take(object)); /* those of another object */
	version = neap_kube_meta_text(object, "resourceVersion");
	if (*version && strcmp(version, "0") != 0)
		return call_bad(
			call,
			"resourceVersion should not be set on objects to be created");
	/* Fields that the server sets are decoded before they are dropped, and set before
	 * values that depend on name and uid. */
	if (call_take_in(call, object, NULL) < 0)
		return -1;
	if (!neap_kube_meta_begin(call->target.kind, object, call->target.ns,
				  call->kube->now()))
		return call_nomem(call);
	if (call_fill_in(call, object, NULL) < 0 ||
	    kube_managers_begin(call, object) < 0 ||
	    call_admit(call, ADMIT_CREATE, object, NULL) < 0)
		return -1;
	if (call_check(call, object, NULL) < 0 ||
	    call_check_quota(call, object, NULL) < 0 ||
	    (call_is_of_pods(call) && call_check_cpus(call, object, NULL) < 0))
		return -1;
	if (call_is_of_definitions(call))
		call_warn_definition(call, object);
	return 0;
}

int call_create_take(struct call *call, json_t *object)
{
	if (make_new(call, object) < 0) {
		json_decref(object);
		return -1;
	}
	(void)neap_strcopy(call->target.name, sizeof(call->target.name),
			   neap_kube_meta_text(object, "name"));
	if (call->request)
		neap_http_note_set(call->request, call->target.name);
	if (!call->is_dry)
		return call_store_take(call, 201, NEAP_STORE_CREATE, object, 0);
	if (call_newest(call)) {
		json_decref(object);
		return neap_kube_fail_exists(&call->failure, call->target.kind,
					     call->target.name);
	}
	return call_answer_dry_take(call, 201, object);
}

int call_create(struct call *call)
{
	json_t *object;

	if (body_object(call, &object) < 0)
		return -1;
	if (call_permit_object(call, "create", NULL, object) < 0) {
		json_decref(object);
		return -1;
	}
	return call_create_take(call, object);
}

/* --- changing --- */

/* In the metadata of a status only what the kind allows counts. */
static bool keep_metadata(const struct neap_kube_kind *kind, json_t *object,
			  const json_t *before)
{
	static const char *const members[] = {"labels", "annotations"};
	const json_t *meta = json_object_get(object, "metadata");
	json_auto_t *kept = neap_json_deep_copy(json_object_get(before, "metadata"));

	if (!kept)
		return false;
	for (size_t i = 0; kind->status_has_labels && i < NEAP_ARRAY_LEN(members); i++) {
		json_t *value = json_object_get(meta, members[i]);

		if (value && json_object_set(kept, members[i], value) < 0)
			return false;
	}
	return json_object_set(object, "metadata", kept) == 0;
}

/* An update of /status changes only the status. call_fill_in took the rest from the
 * stored object. */
static bool keep_part(const struct call *call, json_t *object, const json_t *before)
{
	const struct neap_kube_kind *kind = call->target.kind;
	json_t *status = json_object_get(before, "status");

	if (!kind->has_status)
		return true;
	if (call_is_status(call))
		return keep_metadata(kind, object, before);
	(void)json_object_del(object, "status");
	return !status || json_object_set(object, "status", status) == 0;
}

int call_check_named(struct call *call, const json_t *object)
{
	const char *name = neap_kube_meta_text(object, "name");

	if (!*name)
		return call_bad(call,
				"the name of the object (%s based on URL) was "
				"undeterminable: name must be provided",
				call->target.name);
	if (strcmp(name, call->target.name) == 0)
		return 0;
	return call_bad(
		call,
		"the name of the object (%.253s) does not match the name on the URL (%s)",
		name, call->target.name);
}

/* A missing status counts as an empty one. */
static bool need_status(const struct call *call, json_t *object)
{
	const struct neap_kube_kind *kind = call->target.kind;

	return kind->is_custom || !call_is_status(call) ||
	       json_object_get(object, "status") ||
	       json_object_set_new(object, "status", json_object()) == 0;
}

/* Brings before into the form in which it would be stored today: zero values and missing
 * defaults of an older version are not a change. A stored object that does not fit stays
 * as it is. */
static bool renew(const struct call *call, const json_t *object, json_t *before)
{
	const struct neap_kube_kind *stored = neap_kube_kind_stored(call->target.kind);

	if (stored->is_custom || !neap_kube_meta_wants_other(stored, object, before))
		return true;
	(void)neap_schema_decode(stored->schema, before, NULL);
	return !stored->complete || stored->complete(before);
}

static int make_changed(struct call *call, json_t *object, json_t *before,
			const struct neap_object *newest, const json_t *managers)
{
	if (call_need_metadata(call, object) < 0 ||
	    call_take_in(call, object, before) < 0 ||
	    call_check_named(call, object) < 0 ||
	    change_check_version(call, object, newest) < 0)
		return -1;
	if (!need_status(call, object))
		return call_nomem(call);
	if (call_fill_in(call, object, before) < 0)
		return -1;
	if (!renew(call, object, before))
		return call_nomem(call);
	/* Kinds without namespaces ignore it, but a Namespace may have its own name
	 * there. */
	if (strcmp(call->resource, "namespaces") == 0 &&
	    *neap_kube_meta_text(object, "namespace") &&
	    strcmp(neap_kube_meta_text(object, "namespace"), newest->name) != 0)
		return call_bad(call,
				"the namespace of the object (%.63s) does not match the "
				"namespace on the request (%s)",
				neap_kube_meta_text(object, "namespace"), newest->name);
	if (!*newest->ns)
		(void)json_object_del(json_object_get(object, "metadata"), "namespace");
	if (*newest->ns && !*neap_kube_meta_text(object, "namespace") &&
	    json_object_set_new(json_object_get(object, "metadata"), "namespace",
				json_string(newest->ns)) < 0)
		return call_nomem(call);
	if (*newest->ns &&
	    strcmp(neap_kube_meta_text(object, "namespace"), newest->ns) != 0)
		return call_bad(call,
				"the namespace of the object (%.63s) does not match the "
				"namespace on the request (%s)",
				neap_kube_meta_text(object, "namespace"), newest->ns);
	if (change_check_meta(call, object, before) < 0)
		return -1;
	if (!keep_part(call, object, before) ||
	    !neap_kube_meta_keep(call->target.kind, object, before))
		return call_nomem(call);
	if (kube_managers_change(call, object, before, managers) < 0 ||
	    call_admit(call, ADMIT_UPDATE, object, before) < 0 ||
	    call_check(call, object, before) < 0 ||
	    call_check_quota(call, object, newest) < 0 ||
	    (call_is_of_pods(call) && call_check_cpus(call, object, before) < 0))
		return -1;
	if (call_is_of_definitions(call))
		call_warn_definition(call, object);
	return 0;
}

int call_change_take(struct call *call, json_t *object, json_t *before,
		     const struct neap_object *newest)
{
	json_auto_t *managers = kube_managers_take(object);
	bool is_end;

	if (make_changed(call, object, before, newest, managers) < 0 ||
	    call_permit_object(call, call->is_patch ? "patch" : "update", before,
			       object) < 0) {
		json_decref(object);
		return -1;
	}
	/* A deleting object whose last finalizer is removed is deleted. */
	is_end = newest->has_finalizers && neap_kube_meta_may_end(object);
	if (call->is_dry)
		return call_answer_dry_take(call, 200, object);
	return call_store_take(call, 200, is_end ? NEAP_STORE_DELETE : NEAP_STORE_UPDATE,
			       object, newest->version);
}

/* The uid names an object that does not exist any more. */
static int fail_gone(struct call *call)
{
	return call_conflict(
		call, "Precondition failed: UID in precondition, and no such object");
}

static int update_missing_take(struct call *call, json_t *object)
{
	int failed;

	if (!call->target.kind->is_made_by_update)
		failed = call_missing(call);
	else if (call_check_named(call, object) < 0)
		failed = -1;
	else if (*neap_kube_meta_text(object, "uid"))
		failed = fail_gone(call);
	else
		failed = call_permit_object(call, "update", NULL, object);
	if (failed < 0) {
		json_decref(object);
		return -1;
	}
	/* The version of the update does not matter. */
	(void)json_object_del(json_object_get(object, "metadata"), "resourceVersion");
	return call_create_take(call, object);
}

int call_update_take(struct call *call, json_t *object)
{
	struct neap_object *newest = call_newest(call);
	json_auto_t *before = NULL;

	if (!newest)
		return update_missing_take(call, object);
	before = neap_object_tree(newest);
	if (before)
		return call_change_take(call, object, before, newest);
	json_decref(object);
	return call_nomem(call);
}

static int update_nothing(struct call *call)
{
	json_auto_t *object = NULL;
	bool is_read = body_object(call, &object) == 0;

	if (is_read && call_check_named(call, object) < 0)
		return -1;
	if (is_read && *neap_kube_meta_text(object, "uid"))
		return fail_gone(call);
	return call_missing(call);
}

int call_update(struct call *call)
{
	json_t *object;

	/* Not found is reported before faults of the body, unless the body names an
	 * object that existed. */
	if (!call->target.kind->is_made_by_update && !call_newest(call))
		return update_nothing(call);
	return body_object(call, &object) < 0 ? -1 : call_update_take(call, object);
}

/* A malformed patch is a bad request; one that does not fit the object is invalid. */
static int apply_patch(struct call *call, enum neap_patch_type type, const json_t *patch,
		       const json_t *before, json_t **ret)
{
	struct neap_causes *causes = &call->kube->causes;
	struct neap_error err;
	int code = neap_patch_apply(type, call->target.kind->schema, before, patch, ret,
				    &err);

	if (code == 0)
		return 0;
	if (code != -NEAP_ECONFLICT)
		return call_error(call, &err);
	neap_causes_clear(causes);
	neap_causes_add(causes, "FieldValueInvalid", err.field, "%s", err.msg);
	return call_check_causes(call);
}

/* The form of before that the client sees. A new reference, NULL without memory. */
static json_t *make_shown(const struct call *call, json_t *before)
{
	const struct neap_kube_kind *kind = call->target.kind;
	json_t *shown = kind->view ? neap_json_deep_copy(before) : neap_json_copy(before);

	if (shown && neap_kube_view_show(kind->view, shown) &&
	    json_object_set_new(shown, "kind", json_string(kind->kind)) == 0 &&
	    json_object_set_new(shown, "apiVersion", json_string(call->api_version)) == 0)
		return shown;
	json_decref(shown);
	return NULL;
}

int call_patch_with(struct call *call, enum neap_patch_type type, const json_t *patch)
{
	struct neap_object *newest = call_newest(call);
	json_auto_t *before = NULL, *shown = NULL;
	json_t *object;

	if (!newest)
		return call_missing(call);
	before = neap_object_tree(newest);
	shown = before ? make_shown(call, before) : NULL;
	if (!shown)
		return call_nomem(call);
	if (apply_patch(call, type, patch, shown, &object) < 0)
		return -1;
	if (type != NEAP_PATCH_STRATEGIC && /* they mean nothing there */
	    body_check_patched(call, object) < 0) {
		json_decref(object);
		return -1;
	}
	return call_change_take(call, object, before, newest);
}

int call_patch(struct call *call)
{
	json_auto_t *patch = NULL;
	enum neap_patch_type type;

	return body_patch(call, &type, &patch) < 0 ? -1
						   : call_patch_with(call, type, patch);
}
