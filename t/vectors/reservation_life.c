/* SPDX-License-Identifier: Apache-2.0
 *
 * Area reservation-lifecycle. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/reserve/life.h"
#include "t/vectors/reservation_rig.h"
#include "t/vectors/vectors.h"

static int64_t seconds(const json_t *given, const char *name)
{
	return json_integer_value(json_object_get(given, name));
}

static int expiry(struct vector_context *context, json_t *given, json_t **ret,
		  struct neap_error *err)
{
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_make(&rig, json_object_get(given, "reservation"),
				      seconds(given, "age_seconds"), err);
	if (rc == 0)
		rc = reservation_answer(
			ret, "want_expired",
			neap_reserve_has_expired(
				rig.reserve,
				json_is_true(json_object_get(given, "node_exists")),
				RESERVATION_NOW),
			err);
	return reservation_done(&rig, rc);
}

static int next_sync(struct vector_context *context, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_make(&rig, json_object_get(given, "reservation"),
				      seconds(given, "age_seconds"), err);
	if (rc == 0)
		rc = vector_answer_new(
			json_pack("{s:I}", "want_seconds",
				  (json_int_t)(neap_reserve_next_sync(rig.reserve,
								      RESERVATION_NOW) /
					       1000000)),
			ret, err);
	return reservation_done(&rig, rc);
}

#define USERS_MAX 16

/* What a status says of an owner: of a pod that is there all, else the uid alone. */
static json_t *owner_new(const json_t *pods, json_t *uid)
{
	json_t *pod;
	size_t i;

	json_array_foreach (pods, i, pod)
		if (json_equal(json_object_get(pod, "uid"), uid))
			return json_pack("{s:O, s:O, s:O}", "namespace",
					 json_object_get(pod, "namespace"), "name",
					 json_object_get(pod, "name"), "uid", uid);
	return json_pack("{s:O}", "uid", uid);
}

/* The status of before, with owners by their uids. */
static json_t *tree_with_owners(const json_t *brief, const json_t *pods)
{
	json_t *tree = reservation_tree(brief, 0), *list = json_array(), *uid;
	size_t i;

	json_array_foreach (json_object_get(brief, "owners"), i, uid)
		(void)json_array_append_new(list, owner_new(pods, uid));
	(void)json_object_set_new(json_object_get(tree, "status"), "currentOwners", list);
	(void)json_object_set_new(json_object_get(tree, "spec"), "owners",
				  json_pack("[{}]"));
	return tree;
}

static json_t *told(const json_t *status, const struct neap_resources *resources)
{
	json_t *owners = json_array(), *one, *ready = NULL, *ret;
	struct neap_amounts allocated = {0};
	size_t i;

	json_array_foreach (json_object_get(status, "currentOwners"), i, one)
		(void)json_array_append(owners, json_object_get(one, "uid"));
	json_array_foreach (json_object_get(status, "conditions"), i, one)
		if (strcmp(json_string_value(json_object_get(one, "type")), "Ready") == 0)
			ready = json_pack("{s:O, s:O}", "status",
					  json_object_get(one, "status"), "reason",
					  json_object_get(one, "reason"));
	(void)neap_amounts_read(&allocated, json_object_get(status, "allocated"),
				(struct neap_resources *)(uintptr_t)resources, NULL);
	ret = json_pack("{s:O, s:o, s:o}", "phase", json_object_get(status, "phase"),
			"allocated", reservation_amounts_json(&allocated, resources),
			"owners", owners);
	if (ready)
		(void)json_object_set_new(ret, "ready", ready);
	return ret;
}

static int sync_owners(struct vector_context *context, json_t *given, json_t **ret,
		       struct neap_error *err)
{
	struct neap_reserve_user users[USERS_MAX];
	struct neap_amounts requests[USERS_MAX];
	json_t *pods = json_object_get(given, "pods"), *pod, *status = NULL;
	json_t *tree = tree_with_owners(json_object_get(given, "reservation"), pods);
	struct reservation_rig rig;
	size_t i;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (json_array_size(pods) > USERS_MAX)
		rc = vector_bad(err, "more than %d pods", USERS_MAX);
	if (rc == 0)
		rc = reservation_new(json_incref(tree), rig.resources, &rig.reserve, err);
	json_array_foreach (pods, i, pod) {
		if (rc == 0)
			rc = reservation_amounts(json_object_get(pod, "requests"),
						 rig.resources, &requests[i], err);
		users[i] = (struct neap_reserve_user){
			vector_text(pod, "namespace"), vector_text(pod, "name"),
			vector_text(pod, "uid"), &requests[i]};
	}
	if (rc == 0)
		rc = neap_reserve_status_owned(tree, rig.reserve, users,
					       json_array_size(pods), rig.resources,
					       RESERVATION_NOW, &status, err);
	if (rc >= 0)
		rc = vector_answer_new(
			told(status ? status : json_object_get(tree, "status"),
			     rig.resources),
			ret, err);
	json_decref(status);
	json_decref(tree);
	return reservation_done(&rig, rc);
}

static int collected(struct vector_context *context, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	json_t *brief = json_object_get(given, "reservation");
	int64_t age = seconds(given, "condition_age_seconds");
	const char *reason = vector_text(brief, "reason");
	json_t *tree = reservation_tree(brief, age), *condition;
	char since[32];
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	(void)neap_time_format(RESERVATION_NOW - age * 1000000, 0, since, sizeof(since));
	condition =
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "type",
			  reason && *reason ? "Ready" : "Scheduled", "status", "False",
			  "reason", reason && *reason ? reason : "Unschedulable",
			  "lastTransitionTime", since, "lastProbeTime", since);
	(void)json_object_set_new(json_object_get(tree, "status"), "conditions",
				  json_pack("[o]", condition));
	if (rc == 0)
		rc = reservation_new(tree, rig.resources, &rig.reserve, err);
	else
		json_decref(tree);
	if (rc == 0)
		rc = reservation_answer(
			ret, "want_deleted",
			RESERVATION_NOW >
				neap_reserve_collection(
					rig.reserve,
					json_is_true(
						json_object_get(given, "node_exists")),
					seconds(given, "gc_after_seconds") * 1000000),
			err);
	return reservation_done(&rig, rc);
}

static int requests(struct vector_context *context, json_t *given, json_t **ret,
		    struct neap_error *err)
{
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_make(&rig, json_object_get(given, "reservation"), 0,
				      err);
	if (rc == 0)
		rc = vector_answer_new(
			reservation_amounts_json(&rig.reserve->requests, rig.resources),
			ret, err);
	return reservation_done(&rig, rc);
}

static int set_available(struct vector_context *context, json_t *given, json_t **ret,
			 struct neap_error *err)
{
	json_t *tree = reservation_tree(json_object_get(given, "reservation"), 0);
	json_t *status = NULL, *conditions = json_array(), *one;
	struct neap_amounts amounts = {0};
	struct reservation_rig rig;
	size_t i;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_new(json_incref(tree), rig.resources, &rig.reserve, err);
	if (rc == 0)
		rc = neap_reserve_status_placed(
			tree, rig.reserve, vector_text(given, "node"), false,
			rig.resources, RESERVATION_NOW, &status, err);
	json_array_foreach (json_object_get(status, "conditions"), i, one)
		(void)json_array_append_new(
			conditions, json_pack("[O, O, O]", json_object_get(one, "type"),
					      json_object_get(one, "status"),
					      json_object_get(one, "reason")));
	if (rc == 0)
		rc = neap_amounts_read(&amounts, json_object_get(status, "allocatable"),
				       rig.resources, err);
	if (rc == 0)
		rc = vector_answer_new(
			json_pack("{s:O, s:O, s:o, s:O}", "phase",
				  json_object_get(status, "phase"), "nodeName",
				  json_object_get(status, "nodeName"), "allocatable",
				  reservation_amounts_json(&amounts, rig.resources),
				  "conditions", conditions),
			ret, err);
	json_decref(conditions);
	json_decref(status);
	json_decref(tree);
	return reservation_done(&rig, rc);
}

static int scheduler_name(struct vector_context *context, json_t *given, json_t **ret,
			  struct neap_error *err)
{
	const json_t *brief = json_object_get(given, "reservation");
	const json_t *template = json_object_get(brief, "template");
	json_t *tree = json_pack("{s:{s:{s:O?}}}", "spec", "template", "spec", template);
	int rc;

	(void)context;
	rc = vector_answer_new(json_pack("{s:s}", "want", neap_reserve_scheduler(tree)),
			       ret, err);
	json_decref(tree);
	return rc;
}

static const char *const expiry_keys[] = {"reservation",
					  "reservation.phase",
					  "reservation.nodeName",
					  "reservation.ttl",
					  "reservation.expires_in_seconds",
					  "node_exists",
					  "age_seconds",
					  NULL};
static const char *const sync_keys[] = {"reservation",
					"reservation.phase",
					"reservation.allocateOnce",
					"reservation.allocatable",
					"reservation.allocatable.*",
					"reservation.allocated",
					"reservation.allocated.*",
					"reservation.owners",
					"pods",
					"pods[].uid",
					"pods[].name",
					"pods[].namespace",
					"pods[].requests",
					"pods[].requests.*",
					NULL};
static const char *const gc_keys[] = {"reservation",           "reservation.phase",
				      "reservation.nodeName",  "reservation.reason",
				      "condition_age_seconds", "node_exists",
				      "gc_after_seconds",      NULL};
static const char *const request_keys[] = {"reservation",
					   "reservation.phase",
					   "reservation.nodeName",
					   "reservation.allocatable",
					   "reservation.allocatable.*",
					   "reservation.resize",
					   "reservation.resize.*",
					   "reservation.resize.*.*",
					   "reservation.containers",
					   "reservation.containers[].*",
					   "reservation.init_containers",
					   "reservation.init_containers[].*",
					   "reservation.overhead",
					   "reservation.overhead.*",
					   "node",
					   NULL};
static const char *const name_keys[] = {"reservation", "reservation.template",
					"reservation.template.*", NULL};

const struct vector_row vector_reservation_life_rows[] = {
	{"reservation-lifecycle", "sync-expiry", expiry_keys, expiry},
	{"reservation-lifecycle", "next-sync", expiry_keys, next_sync},
	{"reservation-lifecycle", "sync-owners", sync_keys, sync_owners},
	{"reservation-lifecycle", "gc", gc_keys, collected},
	{"reservation-lifecycle", "requests", request_keys, requests},
	{"reservation-lifecycle", "set-available", request_keys, set_available},
	{"reservation-lifecycle", "scheduler-name", name_keys, scheduler_name},
	{0},
};
