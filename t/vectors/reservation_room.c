/* SPDX-License-Identifier: Apache-2.0
 *
 * Areas reservation-filter and reservation-score. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/decide/decide_priv.h"
#include "t/vectors/reservation_rig.h"
#include "t/vectors/vectors.h"

#define PARTS_MAX 16

/* Amounts of one case; those that it does not name are none. */
struct room_rig {
	struct neap_resources *resources;
	struct neap_amounts node, requested, given, preemptible, requests;
	struct neap_amounts allocatable[PARTS_MAX], allocated[PARTS_MAX];
	struct neap_amounts inner[PARTS_MAX], victims[PARTS_MAX];
	uint32_t names[PARTS_MAX][NEAP_AMOUNTS_MAX];
	struct neap_reserve_part parts[PARTS_MAX];
	size_t count;
	struct neap_reserve_room room;
	struct neap_buf reasons;
};

static int read(struct room_rig *rig, const json_t *given, const char *name,
		struct neap_amounts *ret, struct neap_error *err)
{
	return reservation_amounts(json_object_get(given, name), rig->resources, ret,
				   err);
}

static int read_part(struct room_rig *rig, const json_t *brief, const json_t *victims,
		     struct neap_error *err)
{
	size_t at = rig->count;
	struct neap_reserve_part *part = &rig->parts[at];
	const char *policy = vector_text(brief, "allocatePolicy");
	const char *order = vector_text(brief, "order"), *uid = vector_text(brief, "uid");
	int rc;

	if (at == PARTS_MAX)
		return vector_bad(err, "more than %d reservations", PARTS_MAX);
	rc = read(rig, brief, "allocatable", &rig->allocatable[at], err);
	if (rc == 0)
		rc = read(rig, brief, "allocated", &rig->allocated[at], err);
	if (rc == 0)
		rc = read(rig, brief, "inner_reserved", &rig->inner[at], err);
	if (rc == 0)
		rc = read(rig, victims, uid ? uid : "", &rig->victims[at], err);
	for (size_t i = 0; i < rig->allocatable[at].count; i++)
		rig->names[at][i] = rig->allocatable[at].of[i].resource;
	*part = (struct neap_reserve_part){
		.name = vector_text(brief, "name") ? vector_text(brief, "name") : "r",
		.is_restricted = policy && strcmp(policy, "Restricted") == 0,
		.allocatable = &rig->allocatable[at],
		.allocated = &rig->allocated[at],
		.inner = &rig->inner[at],
		.preemptible = &rig->victims[at],
		.names = rig->names[at],
		.name_count = rig->allocatable[at].count,
		.assigned = (size_t)json_integer_value(
			json_object_get(brief, "assigned_pods")),
	};
	if (order && neap_int_parse(order, &part->order, NULL) < 0)
		part->order = 0;
	rig->count++;
	return rc;
}

static int read_parts(struct room_rig *rig, const json_t *list, const json_t *victims,
		      struct neap_error *err)
{
	const json_t *brief;
	size_t i;
	int rc = 0;

	json_array_foreach (list, i, brief)
		if (rc == 0)
			rc = read_part(rig, brief, victims, err);
	return rc;
}

static int begin(struct room_rig **ret, const json_t *given, const char *requests,
		 struct neap_error *err)
{
	struct room_rig *rig = *ret = neap_alloc(sizeof(*rig));
	int rc;

	if (!rig)
		return neap_error_nomem(err);
	neap_buf_init(&rig->reasons, NEAP_BUF_LINE);
	rig->resources = neap_resources_new();
	if (!rig->resources)
		return neap_error_nomem(err);
	rig->room = (struct neap_reserve_room){.resources = rig->resources,
					       .node_allocatable = &rig->node,
					       .requested = &rig->requested,
					       .given = &rig->given,
					       .preemptible = &rig->preemptible};
	rc = read(rig, given, requests, &rig->requests, err);
	if (rc == 0)
		rc = read(rig, given, "node_allocatable", &rig->node, err);
	if (rc == 0)
		rc = read(rig, given, "node_requested", &rig->requested, err);
	if (rc == 0)
		rc = read(rig, given, "reserved_and_allocated", &rig->given, err);
	return rc < 0 ? rc
		      : read(rig, given, "preemptible_on_node", &rig->preemptible, err);
}

static int done(struct room_rig *rig, int rc)
{
	if (rig) {
		neap_resources_free(rig->resources);
		neap_buf_done(&rig->reasons);
	}
	free(rig);
	return rc;
}

static json_t *lines_of(struct room_rig *rig)
{
	json_t *list = json_array();
	char *rest = rig->reasons.data, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			(void)json_array_append_new(list, json_string(line));
	return list;
}

/* --- filter --- */

static int filter(struct vector_context *context, json_t *given, json_t **ret,
		  struct neap_error *err)
{
	const char *named = vector_text(given, "reservation_name");
	struct neap_reserve_need need = {
		.is_required =
			json_is_true(json_object_get(given, "required_from_reservation")),
		.named = named && *named ? named : NULL,
		.skips_node =
			json_is_true(json_object_get(given, "skip_node_fit_for_single")),
	};
	struct room_rig *rig;
	bool fits = false;
	int rc = begin(&rig, given, "pod_requests", err);

	(void)context;
	if (rc == 0)
		rc = read_parts(rig, json_object_get(given, "reservations"),
				json_object_get(given, "preemptible_in_reservations"),
				err);
	if (rc == 0) {
		need.requests = &rig->requests;
		fits = neap_reserve_fits(&rig->room, &need, rig->parts, rig->count,
					 &rig->reasons);
		rc = vector_answer_new(json_pack("{s:b, s:o}", "want_ok", fits,
						 "want_reasons", lines_of(rig)),
				       ret, err);
	}
	return done(rig, rc);
}

static int nominate_filter(struct vector_context *context, json_t *given, json_t **ret,
			   struct neap_error *err)
{
	json_t *brief = json_pack("{s:s, s:O, s:O}", "name", "r", "allocatable",
				  json_object_get(given, "reservation"), "assigned_pods",
				  json_object_get(given, "assigned_pods"));
	struct neap_reserve_need need = {0};
	struct room_rig *rig;
	json_t *reasons = NULL;
	int rc = begin(&rig, given, "pod_requests", err);

	(void)context;
	if (rc == 0)
		rc = read_part(rig, brief, NULL, err);
	if (rc == 0) {
		/* A node of which all is reserved. */
		rig->parts[0].is_once = true;
		rig->node = rig->requested = rig->allocatable[0];
		need.requests = &rig->requests;
		if (!neap_reserve_accepts(&rig->room, &need, rig->parts, &rig->reasons))
			reasons = lines_of(rig);
		rc = vector_answer_new(
			json_pack("{s:O?}", "want_reason", json_array_get(reasons, 0)),
			ret, err);
	}
	json_decref(reasons);
	json_decref(brief);
	return done(rig, rc);
}

static int pre_allocate(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	json_t *list = json_object_get(given, "candidates"), *brief,
	       *names = json_array();
	struct neap_reserve_candidate candidates[PARTS_MAX];
	bool selected[PARTS_MAX] = {0}, fits;
	struct neap_reserve_takeover takeover = {
		.candidates = candidates,
		.count = json_array_size(list),
		.is_required =
			json_is_true(json_object_get(given, "pre_allocation_required")),
		.takes_several = json_is_true(json_object_get(given, "enable_multiple")),
		.prefers_free =
			json_is_true(json_object_get(given, "prefer_no_pre_allocated")),
	};
	struct room_rig *rig;
	size_t i;
	int rc = begin(&rig, given, "reservation_requests", err);

	(void)context;
	if (takeover.count > PARTS_MAX)
		rc = vector_bad(err, "more than %d candidates", PARTS_MAX);
	for (i = 0; rc == 0 && i < takeover.count; i++) {
		brief = json_array_get(list, i);
		candidates[i] = (struct neap_reserve_candidate){
			vector_text(brief, "name"), &rig->allocated[i]};
		rc = read(rig, brief, "requests", &rig->allocated[i], err);
	}
	if (rc == 0) {
		takeover.requests = &rig->requests;
		fits = neap_reserve_take_over(&rig->room, &takeover, selected,
					      &rig->reasons);
		for (i = 0; i < takeover.count; i++)
			if (selected[i])
				(void)json_array_append_new(
					names, json_string(candidates[i].name));
		rc = vector_answer_new(json_pack("{s:b, s:o, s:O}", "want_ok", fits,
						 "want_reasons", lines_of(rig),
						 "want_selected", names),
				       ret, err);
	}
	json_decref(names);
	return done(rig, rc);
}

static int accounting(struct vector_context *context, json_t *given, json_t **ret,
		      struct neap_error *err)
{
	size_t unmatched = json_array_size(json_object_get(given, "unmatched"));
	struct neap_amounts after;
	struct room_rig *rig;
	int rc = begin(&rig, given, "pod_requests", err);

	(void)context;
	if (rc == 0)
		rc = read_parts(rig, json_object_get(given, "unmatched"), NULL, err);
	if (rc == 0)
		rc = read_parts(rig, json_object_get(given, "matched"), NULL, err);
	if (rc == 0) {
		for (size_t i = 0; i < unmatched; i++)
			neap_reserve_uncount(&rig->requested, rig->parts[i].allocated);
		after = rig->requested;
		for (size_t i = unmatched; i < rig->count; i++)
			neap_reserve_lift(&after, rig->parts[i].allocatable);
		rc = vector_answer_new(
			json_pack(
				"{s:o, s:o}", "want_requested_for_filter",
				reservation_amounts_json(&rig->requested, rig->resources),
				"want_requested_after_matched",
				reservation_amounts_json(&after, rig->resources)),
			ret, err);
	}
	return done(rig, rc);
}

/* --- score --- */

static int score(struct vector_context *context, json_t *given, json_t **ret,
		 struct neap_error *err)
{
	struct room_rig *rig;
	int64_t points = 0;
	int rc = begin(&rig, given, "pod_requests", err);

	(void)context;
	if (rc == 0)
		rc = read_parts(rig, json_object_get(given, "reservations"), NULL, err);
	/* What stands for a reservation uses none. */
	if (rc == 0 && rig->count > 0 &&
	    !json_is_true(json_object_get(given, "reserve_pod")))
		points = neap_reserve_score(
			&rig->parts[neap_reserve_nominate(rig->parts, rig->count,
							  &rig->requests)],
			&rig->requests);
	if (rc == 0)
		rc = vector_answer_new(json_pack("{s:I}", "want", (json_int_t)points),
				       ret, err);
	return done(rig, rc);
}

static json_t *points_of(struct room_rig *rig, const int64_t *scores)
{
	json_t *map = json_object();

	for (size_t i = 0; i < rig->count; i++)
		(void)json_object_set_new(map, rig->parts[i].name,
					  json_integer(scores[i]));
	return map;
}

static int score_with_order(struct vector_context *context, json_t *given, json_t **ret,
			    struct neap_error *err)
{
	int64_t scores[PARTS_MAX], orders[PARTS_MAX];
	struct room_rig *rig;
	json_t *raw;
	size_t best = 0;
	int rc = begin(&rig, given, "pod_requests", err);

	(void)context;
	if (rc == 0)
		rc = read_parts(rig, json_object_get(given, "nodes"), NULL, err);
	if (rc == 0) {
		for (size_t i = 0; i < rig->count; i++) {
			scores[i] = neap_reserve_score(&rig->parts[i], &rig->requests);
			orders[i] = rig->parts[i].order;
		}
		neap_reserve_order(scores, orders, rig->count);
		raw = points_of(rig, scores);
		if (rig->count > 0)
			neap_score_scale(scores, rig->count, neap_score_kept.scale);
		for (size_t i = 0; i < rig->count; i++)
			if (scores[i] > scores[best])
				best = i;
		rc = vector_answer_new(json_pack("{s:s, s:o, s:o}", "want_preferred_node",
						 rig->parts[best].name, "want_raw", raw,
						 "want_normalized",
						 points_of(rig, scores)),
				       ret, err);
	}
	return done(rig, rc);
}

/* Those that the pod may be given, on a node of which all is reserved. */
static size_t keep_fitting(struct room_rig *rig, bool is_required,
			   struct neap_reserve_part *ret)
{
	const struct neap_reserve_need need = {.requests = &rig->requests,
					       .is_required = is_required,
					       .has_passed = true};
	size_t count = 0;

	for (size_t i = 0; i < rig->count; i++) {
		rig->node = rig->allocatable[i];
		rig->requested = rig->allocatable[i];
		rig->given = rig->allocated[i];
		(void)neap_amounts_add(&rig->requested, &rig->given);
		if (neap_reserve_may_give(&rig->room, &need, rig->parts, rig->count, i))
			ret[count++] = rig->parts[i];
	}
	return count;
}

static int nominate(struct vector_context *context, json_t *given, json_t **ret,
		    struct neap_error *err)
{
	struct neap_reserve_part fitting[PARTS_MAX];
	struct room_rig *rig;
	const char *name = NULL;
	size_t count;
	int rc = begin(&rig, given, "pod_requests", err);

	(void)context;
	if (rc == 0)
		rc = read_parts(rig, json_object_get(given, "reservations"), NULL, err);
	if (rc == 0) {
		count = keep_fitting(
			rig,
			json_is_true(json_object_get(given, "required_from_reservation")),
			fitting);
		if (count > 0 && !json_is_true(json_object_get(given, "reserve_pod")))
			name = fitting[neap_reserve_nominate(fitting, count,
							     &rig->requests)]
				       .name;
		rc = vector_answer_new(json_pack("{s:s?}", "want", name), ret, err);
	}
	return done(rig, rc);
}

#define PART_KEYS(list)                                                                  \
	list, list "[].name", list "[].uid", list "[].allocatePolicy",                   \
		list "[].allocatable", list "[].allocatable.*", list "[].allocated",     \
		list "[].allocated.*", list "[].assigned_pods",                          \
		list "[].inner_reserved", list "[].inner_reserved.*", list "[].order"

static const char *const filter_keys[] = {"node_allocatable",
					  "node_allocatable.*",
					  "pod_requests",
					  "pod_requests.*",
					  "required_from_reservation",
					  "reservation_name",
					  "node_requested",
					  "node_requested.*",
					  "reserved_and_allocated",
					  "reserved_and_allocated.*",
					  PART_KEYS("reservations"),
					  "preemptible_on_node",
					  "preemptible_on_node.*",
					  "preemptible_in_reservations",
					  "preemptible_in_reservations.*",
					  "preemptible_in_reservations.*.*",
					  "skip_node_fit_for_single",
					  NULL};
static const char *const nominate_filter_keys[] = {"pod_requests",  "pod_requests.*",
						   "reservation",   "reservation.*",
						   "assigned_pods", NULL};
static const char *const pre_keys[] = {"node_allocatable",
				       "node_allocatable.*",
				       "reservation_requests",
				       "reservation_requests.*",
				       "node_requested",
				       "node_requested.*",
				       "candidates",
				       "candidates[].name",
				       "candidates[].requests",
				       "candidates[].requests.*",
				       "pre_allocation_required",
				       "enable_multiple",
				       "prefer_no_pre_allocated",
				       "preemptible_on_node",
				       "preemptible_on_node.*",
				       NULL};
static const char *const accounting_keys[] = {"node_requested", "node_requested.*",
					      PART_KEYS("unmatched"),
					      PART_KEYS("matched"), NULL};
static const char *const score_keys[] = {"pod_requests",
					 "pod_requests.*",
					 "reserve_pod",
					 "required_from_reservation",
					 PART_KEYS("reservations"),
					 PART_KEYS("nodes"),
					 NULL};

const struct vector_row vector_reservation_room_rows[] = {
	{"reservation-filter", "filter", filter_keys, filter},
	{"reservation-filter", "nominate-filter", nominate_filter_keys, nominate_filter},
	{"reservation-filter", "pre-allocate", pre_keys, pre_allocate},
	{"reservation-filter", "accounting", accounting_keys, accounting},
	{"reservation-score", "score", score_keys, score},
	{"reservation-score", "score-with-order", score_keys, score_with_order},
	{"reservation-score", "nominate", score_keys, nominate},
	{0},
};
