/* SPDX-License-Identifier: Apache-2.0
 *
 * Admission: what is added to an object because of other objects, and what is refused
 * although the object itself is valid. The steps are in the table at the end and run in
 * order, after defaults and before validation. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/slow.h"
#include "api/kube/rules/rules.h"
#include "api/kube/write/write.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

#define CLASSES "priorityclasses.scheduling.k8s.io"
/* How long a pod tolerates a lost node by default. */
#define TOLERATION_S 300

static int forbid(struct call *call, const json_t *object, const char *why)
{
	return neap_kube_fail_refused(&call->failure, call->target.kind,
				      neap_kube_meta_text(object, "name"), why);
}

/* --- classes of priority --- */

/* The default class; among several (clients may race), the lowest. */
struct fallback {
	struct neap_store *store;
	json_t *found; /* NULL: none */
	bool is_short_of_memory;
};

static bool look_at_class(void *arg, struct neap_object *object)
{
	struct fallback *fallback = arg;
	struct neap_object *newest =
		neap_store_newest(fallback->store, CLASSES, "", object->name);
	json_t *tree;

	/* There may be many classes, and hardly any is the default. */
	if (!newest || !strstr(newest->text, "\"globalDefault\":true"))
		return true;
	tree = neap_object_tree(newest);
	fallback->is_short_of_memory = !tree;
	if (tree && json_is_true(json_object_get(tree, "globalDefault")) &&
	    (!fallback->found ||
	     json_integer_value(json_object_get(tree, "value")) <
		     json_integer_value(json_object_get(fallback->found, "value")))) {
		json_decref(fallback->found);
		fallback->found = json_incref(tree);
	}
	json_decref(tree);
	return !fallback->is_short_of_memory;
}

/* *ret is a new reference; NULL: not found. */
static int find_fallback(struct call *call, json_t **ret)
{
	struct neap_store *store = call->kube->store;
	struct fallback fallback = {.store = store};
	struct neap_store_place place = {.version = neap_store_version(store)};
	struct neap_error err;
	int more = neap_store_list(store, CLASSES, NULL, &place, look_at_class, &fallback,
				   &err);

	*ret = fallback.found;
	if (more >= 0 && !fallback.is_short_of_memory)
		return 0;
	json_decref(fallback.found);
	*ret = NULL;
	return call_nomem(call);
}

/* As find_fallback. */
static int find_class(struct call *call, const json_t *object, const char *name,
		      json_t **ret)
{
	struct neap_object *newest;
	char why[384];

	*ret = NULL;
	if (!*name)
		return find_fallback(call, ret);
	newest = neap_store_newest(call->kube->store, CLASSES, "", name);
	if (!newest) {
		(void)snprintf(why, sizeof(why),
			       "no PriorityClass with name %.253s was found", name);
		return forbid(call, object, why);
	}
	*ret = neap_object_tree(newest);
	return *ret ? 0 : call_nomem(call);
}

static int check_priority(struct call *call, const json_t *object, const json_t *spec,
			  json_int_t priority, const char *policy)
{
	const json_t *said = json_object_get(spec, "priority");
	const char *said_policy =
		json_string_value(json_object_get(spec, "preemptionPolicy"));
	char why[384];

	if (json_is_integer(said) && json_integer_value(said) != priority) {
		(void)snprintf(
			why, sizeof(why),
			"the integer value of priority (%lld) must not be provided in "
			"pod spec; priority admission controller computed %lld from "
			"the given PriorityClass name",
			(long long)json_integer_value(said), (long long)priority);
		return forbid(call, object, why);
	}
	if (said_policy && strcmp(said_policy, policy) != 0) {
		(void)snprintf(
			why, sizeof(why),
			"the string value of PreemptionPolicy (%.64s) must not be "
			"provided in pod spec; priority admission controller computed "
			"%.64s from the given PriorityClass name",
			said_policy, policy);
		return forbid(call, object, why);
	}
	return 0;
}

/* Sets priority and preemptionPolicy from the class. */
static int add_priority(struct call *call, json_t *object,
			const json_t *before NEAP_UNUSED)
{
	json_t *spec = json_object_get(object, "spec");
	const char *name = json_string_value(json_object_get(spec, "priorityClassName"));
	const char *policy = NULL;
	json_int_t priority;
	json_t *class;
	int ret;

	if (!json_is_object(spec))
		return 0; /* the check reports it */
	if (find_class(call, object, name ? name : "", &class) < 0)
		return -1;
	priority = json_integer_value(json_object_get(class, "value"));
	policy = json_string_value(json_object_get(class, "preemptionPolicy"));
	if (!policy)
		policy = "PreemptLowerPriority";
	ret = check_priority(call, object, spec, priority, policy);
	if (ret == 0 &&
	    (json_object_set_new(spec, "priority", json_integer(priority)) < 0 ||
	     json_object_set_new(spec, "preemptionPolicy", json_string(policy)) < 0 ||
	     (class &&
	      json_object_set_new(spec, "priorityClassName",
				  json_string(neap_kube_meta_text(class, "name"))) < 0)))
		ret = call_nomem(call);
	json_decref(class);
	return ret;
}

/* A client that omits what admission added does not mean to remove it. */
static int keep_priority(struct call *call, json_t *object, const json_t *before)
{
	static const char *const names[] = {"priority", "preemptionPolicy"};
	json_t *spec = json_object_get(object, "spec");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		json_t *value =
			json_object_get(json_object_get(before, "spec"), names[i]);

		if (value && json_is_object(spec) && !json_object_get(spec, names[i]) &&
		    json_object_set(spec, names[i], value) < 0)
			return call_nomem(call);
	}
	return 0;
}

static int keep_one_default(struct call *call, json_t *object, const json_t *before)
{
	const char *name;
	json_t *other;
	char why[384];
	int ret = 0;

	if (!json_is_true(json_object_get(object, "globalDefault")))
		return 0;
	if (find_fallback(call, &other) < 0)
		return -1;
	name = neap_kube_meta_text(other, "name");
	if (other &&
	    (!before || strcmp(name, neap_kube_meta_text(object, "name")) != 0)) {
		(void)snprintf(
			why, sizeof(why),
			"PriorityClass %.253s is already marked as default. Only one "
			"default can exist",
			name);
		ret = forbid(call, object, why);
	}
	json_decref(other);
	return ret;
}

static int keep_system_classes(struct call *call, json_t *object,
			       const json_t *before NEAP_UNUSED)
{
	const char *name = neap_kube_meta_text(object, "name");

	if (strcmp(name, "system-node-critical") != 0 &&
	    strcmp(name, "system-cluster-critical") != 0)
		return 0;
	return forbid(call, object,
		      "this is a system priority class and cannot be deleted");
}

/* --- tolerations --- */

/* Whether pods with these tolerations stay on nodes with the taint, for a while or for
 * good. */
static bool tolerates(const json_t *list, const char *taint)
{
	const json_t *toleration;
	size_t i;

	json_array_foreach (list, i, toleration) {
		const char *key = json_string_value(json_object_get(toleration, "key"));
		const char *effect =
			json_string_value(json_object_get(toleration, "effect"));

		if ((!key || !*key || strcmp(key, taint) == 0) &&
		    (!effect || !*effect || strcmp(effect, "NoExecute") == 0))
			return true;
	}
	return false;
}

static int add_tolerations(struct call *call, json_t *object,
			   const json_t *before NEAP_UNUSED)
{
	static const char *const taints[] = {"node.kubernetes.io/not-ready",
					     "node.kubernetes.io/unreachable"};
	json_t *spec = json_object_get(object, "spec");
	json_t *list = json_object_get(spec, "tolerations");

	if (!json_is_object(spec) || (list && !json_is_array(list)))
		return 0;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(taints); i++) {
		if (tolerates(list, taints[i]))
			continue;
		list = neap_json_need_take(spec, "tolerations", json_array());
		if (!list ||
		    json_array_append_new(
			    list, json_pack("{s:s, s:s, s:s, s:i}", "key", taints[i],
					    "operator", "Exists", "effect", "NoExecute",
					    "tolerationSeconds", TOLERATION_S)) < 0)
			return call_nomem(call);
	}
	return 0;
}

/* --- jobs --- */

static int add_selector(struct call *call, json_t *object,
			const json_t *before NEAP_UNUSED)
{
	return neap_kube_begin_job(object) ? 0 : call_nomem(call);
}

/* --- namespaces --- */

static int keep_namespaces(struct call *call, json_t *object,
			   const json_t *before NEAP_UNUSED)
{
	static const char *const names[] = {"default", "kube-system", "kube-public"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		if (strcmp(neap_kube_meta_text(object, "name"), names[i]) == 0)
			return forbid(call, object, "this namespace may not be deleted");
	return 0;
}

/* --- the steps --- */

static const struct {
	const char *resource;
	unsigned verbs;
	int (*step)(struct call *call, json_t *object, const json_t *before);
} steps[] = {
	{"pods", ADMIT_CREATE, add_priority},
	{"pods", ADMIT_UPDATE, keep_priority},
	{"pods", ADMIT_CREATE | ADMIT_UPDATE, add_tolerations},
	{"jobs.batch", ADMIT_CREATE, add_selector},
	{CLASSES, ADMIT_CREATE | ADMIT_UPDATE, keep_one_default},
	{CLASSES, ADMIT_DELETE, keep_system_classes},
	{"namespaces", ADMIT_DELETE, keep_namespaces},
};

int call_admit(struct call *call, enum admit_verb verb, json_t *object,
	       const json_t *before)
{
	if (call->target.sub[0])
		return 0;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(steps); i++)
		if ((steps[i].verbs & verb) &&
		    strcmp(steps[i].resource, call->resource) == 0 &&
		    steps[i].step(call, object, before) < 0)
			return -1;
	return 0;
}

/* --- limits on the store ---
 *
 * Limits on the store: objects, bytes, and objects of one owner. So neither a client nor
 * a controller (a ReplicaSet of two billion pods) can fill memory and disk. Essential
 * writes have an extra tenth: Leases, events, status and bindings, and everything that
 * neapd writes except new pods. Deletions, and updates that shrink an object, are always
 * allowed. */

#define RESERVE_PART 10 /* the extra tenth */

static bool is_system(const struct call *call, bool is_new)
{
	static const char *const resources[] = {"events", "leases.coordination.k8s.io",
						NULL};

	if (neap_text_is_in(call->resource, resources) || call->target.sub[0])
		return true;
	return !call->request && (!is_new || strcmp(call->resource, "pods") != 0);
}

/* Messages are those of a ResourceQuota; the quota's name is the option that sets the
 * limit. */
static int refuse(struct call *call, const json_t *object, const char *option,
		  const char *what, uint64_t used, uint64_t limit)
{
	return call_refuse(call, NEAP_CLIENT_FORBIDDEN,
			   "%s \"%.253s\" is forbidden: exceeded quota: %s, requested: "
			   "%s=1, used: %s=%" PRIu64 ", limited: %s=%" PRIu64,
			   call->target.kind->plural, neap_kube_meta_text(object, "name"),
			   option, what, what, used, what, limit);
}

/* Checks the controlling owner only: an object may name many others. */
static int check_owner(struct call *call, const json_t *object, size_t limit)
{
	const json_t *list = neap_json_at(object, "metadata.ownerReferences"), *owner;
	size_t i;

	json_array_foreach (list, i, owner) {
		const char *uid = json_string_value(json_object_get(owner, "uid"));
		size_t used;

		if (!uid || !json_is_true(json_object_get(owner, "controller")))
			continue;
		used = neap_store_owned(call->kube->store, uid);
		if (limit && used >= limit)
			return refuse(call, object, "--max-owned", "owned", used, limit);
	}
	return 0;
}

/* Compares the size as stored, approximately. */
static bool is_smaller(const json_t *object, const struct neap_object *newest)
{
	return json_dumpb(object, NULL, 0, JSON_COMPACT) <= newest->text_len;
}

int call_check_quota(struct call *call, const json_t *object,
		     const struct neap_object *newest)
{
	const struct neap_store *store = call->kube->store;
	struct neap_store_used used = neap_store_used(store);
	struct neap_store_limits limits = neap_store_limits(store);

	if (is_system(call, !newest)) {
		limits.objects += limits.objects / RESERVE_PART;
		limits.bytes += limits.bytes / RESERVE_PART;
	}
	if (!newest && limits.objects && used.objects >= limits.objects)
		return refuse(call, object, "--max-objects", "objects", used.objects,
			      limits.objects);
	if (limits.bytes && used.bytes >= limits.bytes &&
	    !(newest && is_smaller(object, newest)))
		return refuse(call, object, "--max-objects-size", "bytes", used.bytes,
			      limits.bytes);
	return newest ? 0 : check_owner(call, object, limits.owned);
}
