/* SPDX-License-Identifier: Apache-2.0
 *
 * Statuses are built completely from the previous one, so that a resource that is no
 * longer allocated disappears. */
#include "engine/reserve/life.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/reserve/reserve_priv.h"

/* --- time --- */

static bool is_over(const struct neap_reserve *reserve)
{
	return reserve->phase == NEAP_RESERVE_SUCCEEDED ||
	       reserve->phase == NEAP_RESERVE_FAILED;
}

static int64_t later(int64_t usec, int64_t more)
{
	return usec > INT64_MAX - more ? INT64_MAX : usec + more;
}

int64_t neap_reserve_end(const struct neap_reserve *reserve)
{
	int64_t end;

	if (is_over(reserve) || reserve->is_pod || reserve->ttl_usec <= 0)
		return INT64_MAX;
	end = later(reserve->created_usec, reserve->ttl_usec);
	return end < reserve->expires_usec ? end : reserve->expires_usec;
}

bool neap_reserve_has_expired(const struct neap_reserve *reserve, bool node_exists,
			      int64_t now_usec)
{
	if (is_over(reserve) || reserve->is_pod)
		return false;
	if (*reserve->node_name && !node_exists)
		return true;
	return now_usec > neap_reserve_end(reserve);
}

int64_t neap_reserve_collection(const struct neap_reserve *reserve, bool node_exists,
				int64_t keep_usec)
{
	if (!is_over(reserve) || keep_usec == 0)
		return INT64_MAX;
	if (*reserve->node_name && !node_exists)
		return INT64_MIN;
	return later(reserve->phase == NEAP_RESERVE_SUCCEEDED ? reserve->probed_usec
							      : reserve->moved_usec,
		     keep_usec);
}

int64_t neap_reserve_next_look(int64_t until_usec, int64_t now_usec)
{
	int64_t left = until_usec - now_usec;

	if (until_usec == INT64_MAX)
		return 0;
	if (left < NEAP_RESERVE_LOOK_MIN_USEC)
		return NEAP_RESERVE_LOOK_MIN_USEC;
	return left < NEAP_RESERVE_LOOK_MAX_USEC ? left : NEAP_RESERVE_LOOK_MAX_USEC;
}

int64_t neap_reserve_next_sync(const struct neap_reserve *reserve, int64_t now_usec)
{
	int64_t until = reserve->expires_usec;

	if (is_over(reserve) || reserve->is_pod)
		return 0;
	if (until == INT64_MAX && reserve->ttl_usec > 0)
		until = later(reserve->created_usec, reserve->ttl_usec);
	return neap_reserve_next_look(until, now_usec);
}

/* --- statuses --- */

static bool set_text(json_t *object, const char *name, const char *value)
{
	return json_object_set_new(object, name, json_string(value)) == 0;
}

static json_t *status_of(const json_t *reservation)
{
	const json_t *status = json_object_get(reservation, "status");

	return json_is_object(status) ? neap_json_deep_copy(status) : json_object();
}

static bool is_true(const json_t *condition)
{
	return neap_json_is_text(condition, "status", "True");
}

/* Sets a condition. moves: updates its transition time, if it has one. */
static bool set_condition(json_t *status, const char *type, const char *value,
			  const char *reason, const char *message, bool moves,
			  const char *now)
{
	json_t *list = json_object_get(status, "conditions");
	json_t *one = neap_json_condition(status, type);

	if (!json_is_array(list)) {
		list = json_array();
		if (json_object_set_new(status, "conditions", list) < 0)
			return false;
	}
	if (!one) {
		one = json_object();
		moves = true;
		if (json_array_append_new(list, one) < 0 || !set_text(one, "type", type))
			return false;
	}
	if (moves && !set_text(one, "lastTransitionTime", now))
		return false;
	if (message && !set_text(one, "message", message))
		return false;
	if (!message)
		(void)json_object_del(one, "message");
	return set_text(one, "status", value) && set_text(one, "reason", reason) &&
	       set_text(one, "lastProbeTime", now);
}

/* Whole, or not at all. */
static json_t *finish(json_t *status, bool is_good)
{
	return neap_json_made(is_good, status);
}

int neap_reserve_status_placed(const json_t *reservation,
			       const struct neap_reserve *reserve, const char *node,
			       bool is_waiting, struct neap_resources *resources,
			       int64_t now_usec, json_t **ret, struct neap_error *err)
{
	struct neap_amounts amounts = reserve->requests;
	json_t *status;
	char now[32];
	bool is_good;
	/* For one that waits for room, that happened when it was placed. */
	int rc = *reserve->node_name
			 ? 0
			 : neap_reserve_resize(reservation, resources, &amounts, err);

	if (rc < 0)
		return rc;
	(void)neap_time_format(now_usec, 0, now, sizeof(now));
	status = status_of(reservation);
	is_good = status &&
		  set_text(status, "phase", is_waiting ? "Waiting" : "Available") &&
		  set_text(status, "nodeName", node) &&
		  json_object_set_new(status, "allocatable",
				      neap_reserve_amounts_json(&amounts, resources)) ==
			  0 &&
		  json_object_set_new(status, "conditions", json_array()) == 0 &&
		  set_condition(status, "Scheduled", "True", "Scheduled", NULL, true,
				now) &&
		  (is_waiting ? set_condition(status, "Ready", "False", "Waiting", NULL,
					      true, now)
			      : set_condition(status, "Ready", "True", "Available", NULL,
					      true, now));
	*ret = finish(status, is_good);
	return *ret ? 0 : neap_error_nomem(err);
}

json_t *neap_reserve_status_unplaced(const json_t *reservation, const char *message,
				     int64_t now_usec)
{
	json_t *status = status_of(reservation);
	json_t *scheduled = neap_json_condition(status, "Scheduled");
	char now[32];

	(void)neap_time_format(now_usec, 0, now, sizeof(now));
	if (is_true(scheduled))
		return finish(status, set_text(scheduled, "lastProbeTime", now));
	return finish(status,
		      status && set_text(status, "phase", "Pending") &&
			      set_condition(status, "Scheduled", "False", "Unschedulable",
					    message, false, now));
}

json_t *neap_reserve_status_expired(const json_t *reservation, int64_t now_usec)
{
	json_t *status = status_of(reservation);
	char now[32];

	(void)neap_time_format(now_usec, 0, now, sizeof(now));
	return finish(status,
		      status && set_text(status, "phase", "Failed") &&
			      set_condition(status, "Ready", "False", "Expired", NULL,
					    is_true(neap_json_condition(status, "Ready")),
					    now));
}

/* --- owners --- */

static int by_uid(const void *a, const void *b)
{
	const struct neap_reserve_user *one = a, *other = b;

	return strcmp(one->uid, other->uid);
}

static json_t *users_json(const struct neap_reserve_user *users, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		if (json_array_append_new(list,
					  json_pack("{s:s, s:s, s:s}", "namespace",
						    users[i].ns, "name", users[i].name,
						    "uid", users[i].uid)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static bool have_changed(const json_t *status, const struct neap_reserve *reserve,
			 const json_t *owners, const struct neap_amounts *allocated)
{
	const json_t *before = json_object_get(status, "currentOwners");
	size_t count = json_array_size(owners);

	if (json_array_size(before) != count)
		return true;
	for (size_t i = 0; i < count; i++)
		if (!json_equal(json_array_get(before, i), json_array_get(owners, i)))
			return true;
	for (size_t i = 0; i < allocated->count; i++)
		if (neap_amounts_get(&reserve->allocated, allocated->of[i].resource) !=
		    allocated->of[i].amount)
			return true;
	for (size_t i = 0; i < reserve->allocated.count; i++)
		if (neap_amounts_get(allocated, reserve->allocated.of[i].resource) !=
		    reserve->allocated.of[i].amount)
			return true;
	return false;
}

static void sum_up(const struct neap_reserve *reserve,
		   const struct neap_reserve_user *users, size_t count,
		   struct neap_amounts *ret)
{
	const struct neap_amounts *keeps = neap_reserve_keeps(reserve);

	ret->count = 0;
	for (size_t i = 0; i < keeps->count; i++) {
		uint32_t resource = keeps->of[i].resource;
		int64_t sum = 0;

		for (size_t k = 0; k < count; k++)
			sum = neap_amount_sum(
				sum, neap_amounts_get(users[k].requests, resource));
		if (sum > 0)
			(void)neap_amounts_set(ret, resource, sum);
	}
}

int neap_reserve_status_owned(const json_t *reservation,
			      const struct neap_reserve *reserve,
			      struct neap_reserve_user *users, size_t count,
			      const struct neap_resources *resources, int64_t now_usec,
			      json_t **ret, struct neap_error *err)
{
	json_t *status, *owners, *allocated;
	struct neap_amounts sums;
	char now[32];
	bool is_good;

	*ret = NULL;
	if (is_over(reserve))
		return 0;
	if (count > 0)
		qsort(users, count, sizeof(*users), by_uid);
	sum_up(reserve, users, count, &sums);
	status = status_of(reservation);
	owners = users_json(users, count);
	if (status && owners && !have_changed(status, reserve, owners, &sums)) {
		json_decref(status);
		json_decref(owners);
		return 0;
	}
	(void)neap_time_format(now_usec, 0, now, sizeof(now));
	allocated = neap_reserve_amounts_json(&sums, resources);
	is_good = status && owners && allocated &&
		  json_object_set(status, "currentOwners", owners) == 0 &&
		  json_object_set(status, "allocated", allocated) == 0;
	if (is_good && reserve->is_once)
		is_good = set_text(status, "phase", "Succeeded") &&
			  set_condition(status, "Ready", "False", "Succeeded", NULL,
					false, now);
	json_decref(owners);
	json_decref(allocated);
	*ret = finish(status, is_good);
	return *ret ? 1 : neap_error_nomem(err);
}
