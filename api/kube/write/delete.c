/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletes an object. Something else may have to happen first: a finalizer, the kubelet of
 * a running pod, a namespace that is not empty. Then the object is only marked, and
 * removed afterwards. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/slow.h"
#include "api/kube/write/delete_priv.h"
#include "api/kube/write/write.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define GRACE_DEFAULT_S 30

/* -1: not given. The query counts where the body has no value. */
static int orphans_of(struct call *call, const json_t *options)
{
	const json_t *orphan = json_object_get(options, "orphanDependents");

	if (json_is_boolean(orphan))
		return json_is_true(orphan);
	return call_query(call, "orphanDependents") ? call_flag(call, "orphanDependents")
						    : -1;
}

static int parse_propagation(struct call *call, const json_t *options,
			     enum propagation *ret)
{
	int orphan = orphans_of(call, options);
	const char *policy =
		json_string_value(json_object_get(options, "propagationPolicy"));

	if (!policy)
		policy = call_query(call, "propagationPolicy");
	if (policy && orphan >= 0)
		return call_refuse_option(
			call, "FieldValueInvalid", "propagationPolicy",
			"Invalid value: \"%.40s\": orphanDependents and "
			"deletionPropagation cannot be both set",
			policy);
	*ret = orphan > 0 ? ORPHAN : BACKGROUND;
	if (!policy || strcmp(policy, "Background") == 0)
		return 0;
	*ret = ORPHAN;
	if (strcmp(policy, "Orphan") == 0)
		return 0;
	if (strcmp(policy, "Foreground") != 0)
		return call_refuse_option(
			call, "FieldValueNotSupported", "propagationPolicy",
			"Unsupported value: \"%.40s\": supported values: "
			"\"Background\", \"Orphan\"",
			policy);
	return call_bad(call,
			"propagationPolicy Foreground is not served here; use "
			"Background or Orphan (kubectl delete --cascade=background)");
}

static int parse_options(struct call *call, json_t *options, struct wish *ret)
{
	const json_t *grace = json_object_get(options, "gracePeriodSeconds");
	const json_t *dry;
	size_t i;

	*ret = (struct wish){.options = options, .grace_s = -1};
	if (parse_propagation(call, options, &ret->propagation) < 0)
		return -1;
	json_array_foreach (json_object_get(options, "dryRun"), i, dry)
		if (call_parse_dry(call, json_string_value(dry)) < 0)
			return -1;
	if (json_is_integer(grace))
		ret->grace_s = json_integer_value(grace);
	else if (call_number(call, "gracePeriodSeconds", -1, &ret->grace_s) < 0)
		return -1;
	if (ret->grace_s < -1)
		ret->grace_s = 1;
	return 0;
}

int remove_parse(struct call *call, struct wish *ret)
{
	json_t *options;

	*ret = (struct wish){.grace_s = -1};
	if (body_options(call, &options) < 0)
		return -1;
	return parse_options(call, options, ret);
}

int remove_check(struct call *call, const struct wish *wish,
		 const struct neap_object *object)
{
	const json_t *conditions = json_object_get(wish->options, "preconditions");
	const char *uid = json_string_value(json_object_get(conditions, "uid"));
	const char *version =
		json_string_value(json_object_get(conditions, "resourceVersion"));
	int64_t number;

	if (!conditions)
		uid = call_query(call, "uid");
	if (uid && call_check_uid(call, uid, object) < 0)
		return -1;
	if (version &&
	    (neap_int_parse(version, &number, NULL) < 0 || number != object->version))
		return neap_kube_fail_conflict(&call->failure, call->target.kind,
					       object->name, neap_kube_modified);
	return 0;
}

/* The grace period in seconds. Nonzero only for a pod that still runs on a node: its
 * kubelet has to stop it. */
static int64_t find_grace(const struct call *call, const struct wish *wish,
			  const json_t *tree)
{
	const json_t *spec = json_object_get(tree, "spec");
	const char *node = json_string_value(json_object_get(spec, "nodeName"));
	const char *phase = json_string_value(neap_json_at(tree, "status.phase"));
	const json_t *grace = json_object_get(spec, "terminationGracePeriodSeconds");

	if (!call_is_of_pods(call) || !node || !*node ||
	    (phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)))
		return 0;
	if (wish->grace_s >= 0)
		return wish->grace_s;
	if (!json_is_integer(grace))
		return GRACE_DEFAULT_S;
	return json_integer_value(grace) < 0 ? 1 : json_integer_value(grace);
}

/* The contents of a namespace are deleted first. */
static bool terminate_namespace(json_t *tree)
{
	json_t *status = neap_json_need_take(tree, "status", json_object());

	return json_object_set_new(status, "phase", json_string("Terminating")) == 0;
}

static bool must_stay(const struct call *call, const json_t *tree, int64_t grace_s)
{
	return grace_s > 0 || neap_kube_meta_has_finalizers(tree) ||
	       strcmp(call->resource, "namespaces") == 0;
}

/* A second deletion can only shorten the grace period. */
static bool is_sooner(const struct call *call, const json_t *tree, int64_t grace_s)
{
	const json_t *left = neap_json_at(tree, "metadata.deletionGracePeriodSeconds");

	return call_is_of_pods(call) && grace_s < json_integer_value(left);
}

/* What the first deletion adds. False without memory. */
static bool mark(struct call *call, const struct wish *wish, json_t *tree)
{
	return (wish->propagation != ORPHAN ||
		neap_kube_meta_add_finalizer(tree, "orphan")) &&
	       (!call->evicts || call_tell_evicted(call, tree)) &&
	       call_mark_definition(call, tree);
}

/* The last state of a pod that watches show is deleted, with grace period 0. */
static bool set_times(const struct call *call, json_t *tree, bool is_first, bool stays,
		      int64_t grace_s)
{
	int64_t now = call->kube->now();

	if (!stays)
		return !call_is_of_pods(call) || !is_first ||
		       neap_kube_meta_delete(tree, now, 0);
	if ((is_first || is_sooner(call, tree, grace_s)) &&
	    !neap_kube_meta_delete(tree, now, grace_s))
		return false;
	return strcmp(call->resource, "namespaces") != 0 || terminate_namespace(tree);
}

static int remove_take(struct call *call, const struct wish *wish, json_t *tree,
		       const struct neap_object *newest, int status)
{
	int64_t grace_s = find_grace(call, wish, tree);
	bool is_first = !neap_kube_meta_is_deleting(tree), stays;

	if (is_first && !mark(call, wish, tree)) {
		json_decref(tree);
		return call_nomem(call);
	}
	stays = must_stay(call, tree, grace_s);
	if (!set_times(call, tree, is_first, stays, grace_s)) {
		json_decref(tree);
		return call_nomem(call);
	}
	call->answers_deleted = !stays && !call->target.kind->shows_deleted;
	if (call->is_dry)
		return call_answer_dry_take(call, status, tree);
	return call_store_take(call, status,
			       stays ? NEAP_STORE_UPDATE : NEAP_STORE_DELETE, tree,
			       newest->version);
}

int remove_checked(struct call *call, const struct wish *wish,
		   const struct neap_object *newest, int status)
{
	json_t *tree = neap_object_tree(newest);

	if (!tree)
		return call_nomem(call);
	if (call_admit(call, ADMIT_DELETE, tree, NULL) < 0) {
		json_decref(tree);
		return -1;
	}
	return remove_take(call, wish, tree, newest, status);
}

static int remove_with(struct call *call, const struct wish *wish,
		       const struct neap_object *newest, int status)
{
	return remove_check(call, wish, newest) < 0
		       ? -1
		       : remove_checked(call, wish, newest, status);
}

int call_delete_with(struct call *call, json_t *options, struct neap_object *newest,
		     int status)
{
	struct wish wish;

	if (parse_options(call, options, &wish) < 0)
		return -1;
	return remove_with(call, &wish, newest, status);
}

int call_delete(struct call *call)
{
	struct neap_object *newest = call_newest(call);
	struct wish wish;
	int rc;

	if (!newest)
		return call_missing(call);
	rc = remove_parse(call, &wish);
	if (rc == 0)
		rc = remove_with(call, &wish, newest, 200);
	json_decref(wish.options);
	return rc;
}

/* --- without a client --- */

static void call_begin(struct neap_kube *kube, const struct neap_kube_kind *kind,
		       const struct neap_object *object, neap_kube_told *told, void *arg,
		       struct call *ret)
{
	*ret = (struct call){.kube = kube, .told = told, .told_arg = arg};
	ret->target.kind = kind;
	(void)neap_strcopy(ret->target.ns, sizeof(ret->target.ns), object->ns);
	(void)neap_strcopy(ret->target.name, sizeof(ret->target.name), object->name);
	neap_kube_kind_resource(kind, ret->resource, sizeof(ret->resource));
}

void neap_kube_remove(struct neap_kube *kube, const struct neap_kube_kind *kind,
		      struct neap_object *object, neap_kube_told *told, void *arg)
{
	struct wish wish = {.grace_s = -1};
	struct neap_object *newest;
	struct call call;
	json_t *tree;

	call_begin(kube, kind, object, told, arg, &call);
	newest = neap_store_newest(kube->store, call.resource, object->ns, object->name);
	if (!newest || strcmp(newest->uid, object->uid) != 0) {
		call_tell(&call, object); /* it is deleted */
		return;
	}
	tree = neap_object_tree(newest);
	call_end(&call,
		 tree ? remove_take(&call, &wish, tree, newest, 200) : call_nomem(&call));
}

void neap_kube_end(struct neap_kube *kube, const struct neap_kube_kind *kind,
		   const struct neap_object *newest, neap_kube_told *told, void *arg)
{
	struct call call;

	call_begin(kube, kind, newest, told, arg, &call);
	call_end(&call,
		 call_store_take(&call, 200, NEAP_STORE_DELETE, NULL, newest->version));
}

void neap_kube_change_take(struct neap_kube *kube, const struct neap_kube_kind *kind,
			   json_t *tree, const struct neap_object *newest,
			   neap_kube_told *told, void *arg)
{
	bool is_end = newest->has_finalizers && neap_kube_meta_may_end(tree);
	struct call call;

	neap_kube_meta_tidy(tree);
	call_begin(kube, kind, newest, told, arg, &call);
	call_end(&call, call_store_take(&call, 200,
					is_end ? NEAP_STORE_DELETE : NEAP_STORE_UPDATE,
					tree, newest->version));
}
