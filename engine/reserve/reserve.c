/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a Reservation. An unreadable part leaves its message in trouble, and no pod may
 * use the reservation; what it keeps still counts. */
#include "engine/reserve/reserve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/numa/node_reserve.h"
#include "engine/reserve/reserve_priv.h"

const char *neap_reserve_text(struct neap_arena *arena, const json_t *object,
			      const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text && *text ? neap_arena_strdup(arena, text) : "";
}

/* NEAP_MISSING when there is none. */
static int64_t time_at(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	int64_t usec;

	return text && neap_time_parse(text, &usec, NULL) == 0 ? usec : NEAP_MISSING;
}

int neap_reserve_annotation(const json_t *annotations, const char *key, json_t **ret,
			    struct neap_error *err)
{
	const char *text = json_string_value(json_object_get(annotations, key));
	json_error_t where;
	int rc;

	*ret = NULL;
	if (!text || !*text)
		return 0;
	rc = neap_json_parse_note(text, ret, &where);
	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	return rc < 0 ? neap_error_set(err, NEAP_EINVAL, "annotation %s: %s", key,
				       where.text)
		      : 0;
}

/* --- spec.taints --- */

static int read_taints(struct neap_reserve *reserve, const json_t *list,
		       struct neap_error *err)
{
	size_t count = json_array_size(list);
	struct neap_reserve_taint *taints;

	if (count > NEAP_POD_ITEMS_MAX)
		return neap_error_field(err, NEAP_ETOOLARGE, "spec.taints",
					"more than %d", NEAP_POD_ITEMS_MAX);
	taints = neap_arena_array(&reserve->arena, count, sizeof(*taints));
	if (!taints)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const json_t *json = json_array_get(list, i);
		const char *effect = json_string_value(json_object_get(json, "effect"));
		struct neap_reserve_taint *row = &taints[reserve->taint_count];

		if (!effect || !neap_taint_effect_parse(effect, &row->effect))
			continue;
		row->key = neap_reserve_text(&reserve->arena, json, "key");
		row->value = neap_reserve_text(&reserve->arena, json, "value");
		if (row->key && row->value)
			reserve->taint_count++;
	}
	reserve->taints = taints;
	return 0;
}

/* --- amounts --- */

static int read_amounts(struct neap_amounts *ret, const json_t *map,
			struct neap_resources *resources, const char *field,
			struct neap_error *err)
{
	int rc = neap_amounts_read(ret, map, resources, err);

	if (rc < 0)
		(void)neap_error_infield(err, "%s", field);
	return rc;
}

static bool is_option(const json_t *options, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach (options, i, one)
		if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
			return true;
	return false;
}

static void read_names(struct neap_reserve *reserve, const struct neap_amounts *all,
		       const json_t *options, const struct neap_resources *resources)
{
	bool has_options = reserve->policy == NEAP_RESERVE_RESTRICTED;

	reserve->name_count = 0;
	for (size_t i = 0; has_options && i < all->count; i++)
		if (is_option(options,
			      neap_resources_name(resources, all->of[i].resource)))
			reserve->names[reserve->name_count++] = all->of[i].resource;
	if (reserve->name_count > 0)
		return;
	for (size_t i = 0; i < all->count; i++)
		reserve->names[reserve->name_count++] = all->of[i].resource;
}

static int read_notes(struct neap_reserve *reserve, const json_t *annotations,
		      struct neap_resources *resources, struct neap_error *err)
{
	struct neap_node_reserve inner;
	json_t *json;
	int rc = neap_reserve_annotation(annotations, NEAP_KEY_NODE_RESERVATION, &json,
					 err);

	if (rc == 0 && json) {
		rc = neap_node_reserve_read(json, resources, &inner, err);
		reserve->inner = rc == 0 ? inner.amounts : (struct neap_amounts){0};
	}
	json_decref(json);
	if (rc < 0)
		return rc;
	rc = neap_reserve_annotation(annotations, NEAP_KEY_RESERVATION_OPTIONS, &json,
				     err);
	if (rc == 0)
		read_names(reserve, &reserve->allocatable,
			   json_object_get(json, "resources"), resources);
	json_decref(json);
	return rc;
}

int neap_reserve_resize(const json_t *reservation, struct neap_resources *resources,
			struct neap_amounts *amounts, struct neap_error *err)
{
	const json_t *meta = json_object_get(reservation, "metadata");
	json_t *json;
	int rc = neap_reserve_annotation(json_object_get(meta, "annotations"),
					 NEAP_KEY_RESERVATION_RESIZE, &json, err);

	if (rc == 0 && json) {
		rc = neap_amounts_read(amounts, json_object_get(json, "resources"),
				       resources, err);
		if (rc < 0)
			(void)neap_error_wrap(err, "annotation %s",
					      NEAP_KEY_RESERVATION_RESIZE);
	}
	json_decref(json);
	return rc;
}

/* --- what stands for it --- */

/* Returns whether its room may not be free yet, or it may be placed before its status
 * says so. */
static bool waits(const struct neap_reserve *reserve)
{
	return reserve->phase == NEAP_RESERVE_WAITING ||
	       (reserve->phase == NEAP_RESERVE_PENDING &&
		reserve->pre == NEAP_RESERVE_PRE_WAITING);
}

/* Only some users may create Reservations, so they add resource names, as nodes do. */
static int name_resources(struct neap_pod *pod, struct neap_resources *resources,
			  struct neap_error *err)
{
	uint32_t number;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < pod->unknown_count; i++)
		rc = neap_resources_add(resources, pod->unknown[i].name, &number, err);
	(void)neap_pod_resolve(pod, resources);
	return rc;
}

static int make_pod(struct neap_reserve *reserve, json_t *pod_tree,
		    struct neap_resources *resources, struct neap_error *err)
{
	struct neap_object *object;
	int rc;

	if (!pod_tree)
		return neap_error_nomem(err);
	reserve->pod = neap_pod_unref(reserve->pod);
	rc = neap_object_new_take(pod_tree, NULL, reserve->object->version, &object, err);
	if (rc < 0)
		return neap_error_infield(err, "spec.template");
	rc = neap_pod_new(object, resources, &reserve->pod, err);
	(void)neap_object_unref(object);
	if (rc < 0)
		return rc;
	rc = name_resources(reserve->pod, resources, err);
	neap_pod_amounts(reserve->pod, &reserve->requests);
	if (!neap_pod_keep(reserve->pod, reserve->object->name, reserve->object->uid,
			   neap_reserve_keeps(reserve), waits(reserve)))
		return neap_error_nomem(err);
	if (rc < 0)
		return neap_error_infield(err, "spec.template");
	return reserve->pod->trouble ? neap_error_field(err, NEAP_EINVAL, "spec.template",
							"%s", reserve->pod->trouble)
				     : 0;
}

static bool are_equal(const struct neap_amounts *a, const struct neap_amounts *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (neap_amounts_get(b, a->of[i].resource) != a->of[i].amount)
			return false;
	return true;
}

/* Placed, it asks for what it keeps; before, for what it will keep. */
static int overlay(struct neap_reserve *reserve, const json_t *tree,
		   struct neap_resources *resources, struct neap_amounts *all,
		   struct neap_error *err)
{
	struct neap_error fault;
	int rc;

	if (!neap_reserve_is_active(reserve)) {
		if (reserve->phase != NEAP_RESERVE_PENDING || *reserve->node_name)
			return 0;
		rc = neap_reserve_resize(tree, resources, all, &fault);
		if (rc == -NEAP_ENOMEM)
			return neap_error_nomem(err);
		/* It is not to be placed. */
		if (rc < 0)
			reserve->pod->trouble =
				neap_arena_strdup(&reserve->pod->arena, fault.msg);
		return rc < 0 && reserve->pod->arena.failed ? neap_error_nomem(err) : 0;
	}
	for (size_t i = 0; i < reserve->allocatable.count; i++)
		if (!neap_amounts_set(all, reserve->allocatable.of[i].resource,
				      reserve->allocatable.of[i].amount))
			return neap_error_field(err, NEAP_ETOOLARGE, "status.allocatable",
						"more than %d different resources",
						NEAP_AMOUNTS_MAX);
	return 0;
}

/* The resources it will keep, before its status has them. */
static int name_ahead(struct neap_reserve *reserve, const json_t *tree,
		      struct neap_resources *resources, struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	neap_auto_json json_t *json = NULL;
	int rc = neap_reserve_annotation(json_object_get(meta, "annotations"),
					 NEAP_KEY_RESERVATION_OPTIONS, &json, err);

	if (rc == 0)
		read_names(reserve, &reserve->requests,
			   json_object_get(json, "resources"), resources);
	return rc;
}

static int read_pod(struct neap_reserve *reserve, const json_t *tree,
		    struct neap_resources *resources, struct neap_error *err)
{
	struct neap_amounts all;
	int rc;

	if (reserve->arena.failed)
		return neap_error_nomem(err);
	rc = make_pod(reserve, neap_reserve_pod_tree(tree, NULL, NULL), resources, err);
	if (rc < 0)
		return rc;
	all = reserve->requests;
	rc = overlay(reserve, tree, resources, &all, err);
	if (rc == 0 && !are_equal(&all, &reserve->requests))
		rc = make_pod(reserve, neap_reserve_pod_tree(tree, &all, resources),
			      resources, err);
	return rc < 0 || reserve->allocatable.count
		       ? rc
		       : name_ahead(reserve, tree, resources, err);
}

/* --- spec and status --- */

static enum neap_reserve_phase phase_of(const char *text)
{
	static const struct {
		const char *name;
		enum neap_reserve_phase phase;
	} names[] = {{"Available", NEAP_RESERVE_AVAILABLE},
		     {"Waiting", NEAP_RESERVE_WAITING},
		     {"Succeeded", NEAP_RESERVE_SUCCEEDED},
		     {"Failed", NEAP_RESERVE_FAILED}};

	for (size_t i = 0; text && i < NEAP_ARRAY_LEN(names); i++)
		if (strcmp(text, names[i].name) == 0)
			return names[i].phase;
	return NEAP_RESERVE_PENDING;
}

static void read_conditions(struct neap_reserve *reserve, const json_t *list)
{
	const json_t *one, *ready = NULL;
	int64_t newest = NEAP_MISSING, usec;
	size_t i;

	json_array_foreach (list, i, one) {
		usec = time_at(one, "lastTransitionTime");
		if (usec > newest)
			newest = usec;
		if (neap_json_is_text(one, "type", "Ready"))
			ready = one;
	}
	reserve->is_expired = reserve->phase == NEAP_RESERVE_FAILED &&
			      neap_json_is_text(ready, "status", "False") &&
			      neap_json_is_text(ready, "reason", "Expired");
	usec = time_at(ready, "lastTransitionTime");
	reserve->moved_usec = usec != NEAP_MISSING     ? usec
			      : newest != NEAP_MISSING ? newest
						       : reserve->created_usec;
	usec = time_at(ready, "lastProbeTime");
	reserve->probed_usec = usec != NEAP_MISSING ? usec : reserve->moved_usec;
}

static int read_status(struct neap_reserve *reserve, const json_t *status,
		       struct neap_resources *resources, struct neap_error *err)
{
	int rc;

	reserve->phase = phase_of(json_string_value(json_object_get(status, "phase")));
	reserve->node_name = neap_reserve_text(&reserve->arena, status, "nodeName");
	read_conditions(reserve, json_object_get(status, "conditions"));
	rc = read_amounts(&reserve->allocatable, json_object_get(status, "allocatable"),
			  resources, "status.allocatable", err);
	if (rc == 0)
		rc = read_amounts(&reserve->allocated,
				  json_object_get(status, "allocated"), resources,
				  "status.allocated", err);
	return rc;
}

static int read_ttl(struct neap_reserve *reserve, const json_t *spec,
		    struct neap_error *err)
{
	const char *ttl = json_string_value(json_object_get(spec, "ttl"));
	int64_t expires = time_at(spec, "expires");

	reserve->ttl_usec = NEAP_RESERVATION_TTL_USEC;
	reserve->expires_usec = expires == NEAP_MISSING ? INT64_MAX : expires;
	return ttl && neap_duration_parse(ttl, &reserve->ttl_usec, err) < 0
		       ? neap_error_infield(err, "spec.ttl")
		       : 0;
}

static enum neap_reserve_pre pre_of(const json_t *spec)
{
	const json_t *policy = json_object_get(spec, "preAllocationPolicy");

	if (!json_is_true(json_object_get(spec, "preAllocation")))
		return NEAP_RESERVE_PRE_NONE;
	if (neap_json_is_text(policy, "mode", "Cluster"))
		return NEAP_RESERVE_PRE_CLUSTER;
	return neap_json_is_text(policy, "mode", "Waiting") ? NEAP_RESERVE_PRE_WAITING
							    : NEAP_RESERVE_PRE_DEFAULT;
}

static int read_spec(struct neap_reserve *reserve, const json_t *spec,
		     struct neap_error *err)
{
	int rc;

	reserve->wanted_node = neap_reserve_text(
		&reserve->arena,
		json_object_get(json_object_get(spec, "template"), "spec"), "nodeName");
	reserve->is_once = !json_is_false(json_object_get(spec, "allocateOnce"));
	reserve->is_unschedulable = json_is_true(json_object_get(spec, "unschedulable"));
	reserve->policy = neap_json_is_text(spec, "allocatePolicy", "Aligned")
				  ? NEAP_RESERVE_ALIGNED
			  : neap_json_is_text(spec, "allocatePolicy", "Restricted")
				  ? NEAP_RESERVE_RESTRICTED
				  : NEAP_RESERVE_NO_POLICY;
	reserve->pre = pre_of(spec);
	reserve->takes_several = json_is_true(json_object_get(
		json_object_get(spec, "preAllocationPolicy"), "enableMultiple"));
	rc = read_ttl(reserve, spec, err);
	if (rc == 0)
		rc = neap_reserve_owners_read(reserve, json_object_get(spec, "owners"),
					      err);
	return rc < 0 ? rc : read_taints(reserve, json_object_get(spec, "taints"), err);
}

static void read_labels(struct neap_reserve *reserve)
{
	const char *order =
		neap_object_label(reserve->object, NEAP_KEY_RESERVATION_ORDER);
	const char *needs = neap_object_label(
		reserve->object, "scheduling.koordinator.sh/pre-allocation-required");

	if (order && neap_int_parse(order, &reserve->order, NULL) < 0)
		reserve->order = 0;
	reserve->needs_pods = needs && strcmp(needs, "true") == 0;
}

/* All of it is read in any case; the first error is reported. */
static int read_reservation(struct neap_reserve *reserve, const json_t *tree,
			    struct neap_resources *resources, struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	struct neap_error faults[4] = {0};
	int64_t created = time_at(meta, "creationTimestamp");
	int rcs[4];

	reserve->created_usec = created == NEAP_MISSING ? 0 : created;
	rcs[0] = read_status(reserve, json_object_get(tree, "status"), resources,
			     &faults[0]);
	rcs[1] = read_spec(reserve, json_object_get(tree, "spec"), &faults[1]);
	read_labels(reserve);
	rcs[2] = read_notes(reserve, json_object_get(meta, "annotations"), resources,
			    &faults[2]);
	rcs[3] = read_pod(reserve, tree, resources, &faults[3]);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < 4; i++)
			if (rcs[i] < 0 && (pass == 1 || rcs[i] == -NEAP_ENOMEM)) {
				*err = faults[i];
				return rcs[i];
			}
	return reserve->arena.failed ? neap_error_nomem(err) : 0;
}

static bool is_ready(const json_t *status)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(status, "conditions"), i, one)
		if (neap_json_is_text(one, "type", "Ready") &&
		    neap_json_is_text(one, "status", "True"))
			return neap_json_is_text(status, "phase", "Running");
	return false;
}

static int read_operating(struct neap_reserve *reserve, const json_t *tree,
			  struct neap_resources *resources, struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	const json_t *status = json_object_get(tree, "status");
	json_t *owners;
	int rc;

	reserve->is_pod = reserve->is_once = true;
	reserve->policy = NEAP_RESERVE_ALIGNED;
	reserve->expires_usec = INT64_MAX;
	reserve->node_name = neap_reserve_text(&reserve->arena,
					       json_object_get(tree, "spec"), "nodeName");
	reserve->phase = is_ready(status) ? NEAP_RESERVE_AVAILABLE : NEAP_RESERVE_PENDING;
	read_labels(reserve);
	rc = neap_pod_new(reserve->object, resources, &reserve->pod, err);
	if (rc < 0)
		return rc;
	neap_pod_amounts(reserve->pod, &reserve->requests);
	reserve->allocatable = reserve->requests;
	rc = neap_reserve_annotation(json_object_get(meta, "annotations"),
				     NEAP_KEY_RESERVATION_OWNERS, &owners, err);
	if (rc == 0)
		rc = neap_reserve_owners_read(reserve, owners, err);
	json_decref(owners);
	if (rc == 0)
		read_names(reserve, &reserve->allocatable, NULL, resources);
	return rc < 0 || !reserve->arena.failed ? rc : neap_error_nomem(err);
}

typedef int read_fn(struct neap_reserve *reserve, const json_t *tree,
		    struct neap_resources *resources, struct neap_error *err);

static int new_by(read_fn *read, struct neap_object *object,
		  struct neap_resources *resources, struct neap_reserve **ret,
		  struct neap_error *err)
{
	struct neap_reserve *reserve = neap_alloc(sizeof(*reserve));
	json_t *tree = neap_object_tree(object);
	struct neap_error fault = {0};
	size_t size;
	char *text;
	int rc;

	if (!reserve || !tree) {
		free(reserve);
		json_decref(tree);
		return neap_error_nomem(err);
	}
	reserve->refs = 1;
	reserve->object = neap_object_ref(object);
	reserve->node_name = reserve->wanted_node = "";
	rc = read(reserve, tree, resources, &fault);
	json_decref(tree);
	if (rc < 0 && (fault.code == NEAP_ENOMEM || reserve->arena.failed)) {
		(void)neap_reserve_unref(reserve);
		return neap_error_nomem(err);
	}
	if (rc < 0) {
		size = strlen(fault.field) + strlen(fault.msg) + 3;
		text = neap_arena_alloc(&reserve->arena, size);
		if (text)
			(void)snprintf(text, size, "%s%s%s", fault.field,
				       *fault.field ? ": " : "", fault.msg);
		reserve->trouble = text ? text : "cannot be read";
	}
	*ret = reserve;
	return 0;
}

int neap_reserve_new(struct neap_object *object, struct neap_resources *resources,
		     struct neap_reserve **ret, struct neap_error *err)
{
	return new_by(read_reservation, object, resources, ret, err);
}

int neap_reserve_new_pod(struct neap_object *object, struct neap_resources *resources,
			 struct neap_reserve **ret, struct neap_error *err)
{
	return new_by(read_operating, object, resources, ret, err);
}

struct neap_reserve *neap_reserve_ref(struct neap_reserve *reserve)
{
	reserve->refs++;
	return reserve;
}

struct neap_reserve *neap_reserve_unref(struct neap_reserve *reserve)
{
	if (!reserve || --reserve->refs)
		return NULL;
	(void)neap_pod_unref(reserve->pod);
	(void)neap_object_unref(reserve->object);
	neap_arena_done(&reserve->arena);
	free(reserve);
	return NULL;
}

/* --- states --- */

const struct neap_amounts *neap_reserve_keeps(const struct neap_reserve *reserve)
{
	return reserve->allocatable.count ? &reserve->allocatable : &reserve->requests;
}

bool neap_reserve_is_active(const struct neap_reserve *reserve)
{
	return *reserve->node_name && (reserve->phase == NEAP_RESERVE_AVAILABLE ||
				       reserve->phase == NEAP_RESERVE_WAITING);
}

bool neap_reserve_is_available(const struct neap_reserve *reserve)
{
	return (reserve->is_pod || *reserve->node_name) &&
	       reserve->phase == NEAP_RESERVE_AVAILABLE;
}

bool neap_reserve_is_usable(const struct neap_reserve *reserve, size_t assigned)
{
	return !reserve->trouble && neap_reserve_is_available(reserve) &&
	       !(reserve->is_once && assigned > 0);
}

bool neap_reserve_is_closed(const struct neap_reserve *reserve)
{
	return reserve->is_unschedulable || reserve->object->is_deleting;
}
