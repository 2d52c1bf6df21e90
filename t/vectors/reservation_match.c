/* SPDX-License-Identifier: Apache-2.0
 *
 * Area reservation-match. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "t/vectors/reservation_rig.h"
#include "t/vectors/vectors.h"

/* annotations: one named after each input that is not null. */
static int make_pod(struct reservation_rig *rig, const json_t *brief,
		    const json_t *affinity, const json_t *exact, struct neap_error *err)
{
	json_t *notes = json_object();
	int rc;

	if (affinity && !json_is_null(affinity))
		(void)json_object_set(notes, NEAP_KEY_RESERVATION_AFFINITY,
				      (json_t *)(uintptr_t)affinity);
	if (exact && !json_is_null(exact))
		(void)json_object_set_new(notes, NEAP_KEY_RESERVATION_EXACT,
					  json_pack("{s:O}", "resourceNames", exact));
	rc = reservation_pod(brief, notes, rig->resources, &rig->pod, err);
	json_decref(notes);
	return rc;
}

static int make_node(struct reservation_rig *rig, const json_t *labels,
		     struct neap_error *err)
{
	json_t *tree = json_pack("{s:{s:s, s:s, s:O}}", "metadata", "name", "n1", "uid",
				 "n1", "labels", labels);

	return neap_object_new_take(tree, NULL, 1, &rig->node, err);
}

/* --- match --- */

static int owner_match(struct vector_context *context, json_t *given, json_t **ret,
		       struct neap_error *err)
{
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_make(&rig, given, 0, err);
	if (rc == 0)
		rc = make_pod(&rig, json_object_get(given, "pod"), NULL, NULL, err);
	if (rc == 0)
		rc = reservation_answer(
			ret, "want", neap_reserve_owners_take(rig.reserve, &rig.pod.ask),
			err);
	return reservation_done(&rig, rc);
}

static int states(struct vector_context *context, json_t *given, json_t **ret,
		  struct neap_error *err)
{
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_make(&rig, json_object_get(given, "status"), 0, err);
	if (rc == 0)
		rc = vector_answer_new(
			json_pack("{s:b, s:b, s:b, s:b, s:b}", "active",
				  neap_reserve_is_active(rig.reserve), "available",
				  neap_reserve_is_available(rig.reserve), "succeeded",
				  rig.reserve->phase == NEAP_RESERVE_SUCCEEDED, "failed",
				  rig.reserve->phase == NEAP_RESERVE_FAILED, "expired",
				  rig.reserve->is_expired),
			ret, err);
	return reservation_done(&rig, rc);
}

static int affinity(struct vector_context *context, json_t *given, json_t **ret,
		    struct neap_error *err)
{
	json_t *brief = json_pack("{s:O}", "labels",
				  json_object_get(given, "reservation_labels"));
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_make(&rig, brief, 0, err);
	if (rc == 0)
		rc = make_node(&rig, json_object_get(given, "node_labels"), err);
	if (rc == 0)
		rc = make_pod(&rig, NULL, json_object_get(given, "affinity"), NULL, err);
	if (rc == 0)
		rc = vector_answer_new(
			json_pack(
				"{s:b, s:b}", "want_match",
				neap_reserve_is_selected(rig.reserve, rig.node,
							 &rig.pod.ask),
				"want_tolerates_unschedulable",
				neap_reserve_tolerates(&rig.pod.ask,
						       "node.kubernetes.io/unschedulable",
						       "", NEAP_TAINT_NO_SCHEDULE)),
			ret, err);
	json_decref(brief);
	return reservation_done(&rig, rc);
}

static int exact_match(struct vector_context *context, json_t *given, json_t **ret,
		       struct neap_error *err)
{
	json_t *brief =
		json_pack("{s:O}", "requests", json_object_get(given, "pod_requests"));
	struct neap_amounts kept;
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_amounts(
			json_object_get(given, "reservation_allocatable"), rig.resources,
			&kept, err);
	if (rc == 0)
		rc = make_pod(&rig, brief, NULL, json_object_get(given, "resource_names"),
			      err);
	if (rc == 0)
		rc = reservation_answer(ret, "want",
					neap_reserve_is_exact(&kept, &rig.pod.ask), err);
	json_decref(brief);
	return reservation_done(&rig, rc);
}

static int make_operating(struct reservation_rig *rig, const json_t *brief,
			  struct neap_error *err)
{
	struct neap_object *object;
	json_t *tree = json_pack(
		"{s:{s:s, s:s, s:s}, s:{s:s}, s:{s:O, s:[{s:s, s:s}]}}", "metadata",
		"name", "p", "namespace", "default", "uid", "p", "spec", "nodeName", "n",
		"status", "phase", json_object_get(brief, "pod_phase"), "conditions",
		"type", "Ready", "status",
		json_is_true(json_object_get(brief, "ready")) ? "True" : "False");
	int rc = neap_object_new_take(tree, NULL, 1, &object, err);

	if (rc < 0)
		return rc;
	rc = neap_reserve_new_pod(object, rig->resources, &rig->reserve, err);
	(void)neap_object_unref(object);
	return rc;
}

static int matchable(struct vector_context *context, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	const json_t *brief = json_object_get(given, "reservation");
	json_int_t assigned = json_integer_value(json_object_get(given, "assigned_pods"));
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = json_is_true(json_object_get(brief, "operating_pod"))
			     ? make_operating(&rig, brief, err)
			     : reservation_make(&rig, brief, 0, err);
	if (rc == 0)
		rc = reservation_answer(
			ret, "want",
			neap_reserve_is_usable(rig.reserve, (size_t)assigned), err);
	return reservation_done(&rig, rc);
}

static int unschedulable(struct vector_context *context, json_t *given, json_t **ret,
			 struct neap_error *err)
{
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_make(&rig, json_object_get(given, "reservation"), 0,
				      err);
	if (rc == 0)
		rc = reservation_answer(ret, "want", neap_reserve_is_closed(rig.reserve),
					err);
	return reservation_done(&rig, rc);
}

/* A node and two reservations that the cases describe in words alone. */
static json_t *reservation_of(const char *name)
{
	bool is_b = strncmp(name, "b", 1) == 0;

	return json_pack(
		"{s:s, s:s, s:{s:s}, s:s, s:s, s:b, s:{s:s, s:s}, s:[{s:{s:{s:s}}}]}",
		"name", is_b ? "reservation-b" : "reservation8C16G", "uid", name,
		"labels", is_b ? "reservation-b" : "reservation-a", "true", "phase",
		"Available", "nodeName", "n1", "unschedulable", is_b, "allocatable",
		"cpu", "8", "memory", "16Gi", "owners", "labelSelector", "matchLabels",
		"test-reservation", "true");
}

static bool takes(struct reservation_rig *rig, bool *ret, const char *name,
		  struct neap_error *err)
{
	json_t *brief = reservation_of(name);
	int rc;

	rig->reserve = neap_reserve_unref(rig->reserve);
	rc = reservation_make(rig, brief, 0, err);
	json_decref(brief);
	if (rc == 0 && neap_reserve_is_usable(rig->reserve, 0) &&
	    neap_reserve_match(rig->reserve, rig->node, &rig->pod.ask,
			       neap_reserve_owners_take(rig->reserve, &rig->pod.ask)))
		*ret = true;
	return rc == 0;
}

static int restore(struct vector_context *context, json_t *given, json_t **ret,
		   struct neap_error *err)
{
	json_t *list = json_object_get(given, "reservations"), *name;
	json_t *brief = json_pack("{s:{s:s}, s:{s:s, s:s}}", "labels", "test-reservation",
				  "true", "requests", "cpu", "4", "memory", "8Gi");
	json_t *asked = json_deep_copy(json_object_get(given, "affinity"));
	json_t *labels = json_pack("{s:s}", "test", "true");
	bool is_found = false;
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);
	size_t i;

	(void)context;
	if (json_is_true(json_object_get(given, "tolerate_unschedulable")))
		(void)json_object_set_new(asked, "tolerations",
					  json_pack("[{s:s, s:s, s:s}]", "key",
						    "node.kubernetes.io/unschedulable",
						    "operator", "Exists", "effect",
						    "NoSchedule"));
	if (rc == 0)
		rc = make_node(&rig, labels, err);
	if (rc == 0)
		rc = make_pod(&rig, brief, asked, json_object_get(given, "exact_match"),
			      err);
	json_array_foreach (list, i, name)
		if (rc == 0 && !takes(&rig, &is_found, json_string_value(name), err))
			rc = -(int)err->code;
	if (rc == 0)
		rc = reservation_answer(ret, "want_node_has_candidates", is_found, err);
	json_decref(brief);
	json_decref(asked);
	json_decref(labels);
	return reservation_done(&rig, rc);
}

static int restricted(struct vector_context *context, json_t *given, json_t **ret,
		      struct neap_error *err)
{
	json_t *brief =
		json_pack("{s:s, s:{}}", "allocatePolicy", "Restricted", "allocatable");
	json_t *tree, *name, *names = json_array();
	neap_auto_free char *text = NULL;
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);
	size_t i;

	(void)context;
	json_array_foreach (json_object_get(given, "reserved_names"), i, name)
		(void)json_object_set_new(json_object_get(brief, "allocatable"),
					  json_string_value(name), json_string("1"));
	tree = reservation_tree(brief, 0);
	name = json_pack("{s:O}", "resources", json_object_get(given, "options"));
	text = json_dumps(name, 0);
	json_decref(name);
	(void)json_object_set_new(
		json_object_get(json_object_get(tree, "metadata"), "annotations"),
		NEAP_KEY_RESERVATION_OPTIONS, json_string(text));
	if (rc == 0)
		rc = reservation_new(tree, rig.resources, &rig.reserve, err);
	else
		json_decref(tree);
	for (i = 0; rc == 0 && i < rig.reserve->name_count; i++)
		(void)json_array_append_new(
			names, json_string(neap_resources_name(rig.resources,
							       rig.reserve->names[i])));
	if (rc == 0)
		rc = vector_answer_new(json_pack("{s:O}", "want", names), ret, err);
	json_decref(names);
	json_decref(brief);
	return reservation_done(&rig, rc);
}

static int available_to(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	const json_t *brief = json_object_get(given, "reservation");
	struct reservation_rig rig;
	int rc = reservation_begin(&rig, err);

	(void)context;
	if (rc == 0)
		rc = reservation_make(&rig, brief, 0, err);
	if (rc == 0)
		rc = make_pod(&rig, NULL, json_object_get(given, "affinity"), NULL, err);
	if (rc == 0)
		rc = reservation_answer(
			ret, "want",
			neap_reserve_match(
				rig.reserve, NULL, &rig.pod.ask,
				json_is_true(json_object_get(brief, "owner_matches"))) !=
				NEAP_RESERVE_UNMATCHED,
			err);
	return reservation_done(&rig, rc);
}

static const char *const owner_keys[] = {"pod",
					 "pod.name",
					 "pod.namespace",
					 "pod.uid",
					 "pod.labels",
					 "pod.labels.*",
					 "pod.ownerReferences",
					 "pod.ownerReferences[].name",
					 "pod.ownerReferences[].uid",
					 "pod.ownerReferences[].controller",
					 "pod.ownerReferences[].kind",
					 "pod.ownerReferences[].apiVersion",
					 "pod.ownerReferences[].blockOwnerDeletion",
					 "owners",
					 "owners[].object",
					 "owners[].object.*",
					 "owners[].controller",
					 "owners[].controller.*",
					 "owners[].labelSelector",
					 "owners[].labelSelector.matchLabels",
					 "owners[].labelSelector.matchLabels.*",
					 "owners[].labelSelector.matchExpressions",
					 "owners[].labelSelector.matchExpressions[].*",
					 NULL};
static const char *const state_keys[] = {"status",
					 "status.phase",
					 "status.nodeName",
					 "status.conditions",
					 "status.conditions[].*",
					 NULL};
#define AFFINITY_KEYS                                                                    \
	"affinity", "affinity.name", "affinity.reservationSelector",                     \
		"affinity.reservationSelector.*", "affinity.tolerations",                \
		"affinity.tolerations[].*",                                              \
		"affinity.requiredDuringSchedulingIgnoredDuringExecution",               \
		"affinity.requiredDuringSchedulingIgnoredDuringExecution."               \
		"reservationSelectorTerms",                                              \
		"affinity.requiredDuringSchedulingIgnoredDuringExecution."               \
		"reservationSelectorTerms[].matchExpressions",                           \
		"affinity.requiredDuringSchedulingIgnoredDuringExecution."               \
		"reservationSelectorTerms[].matchExpressions[].*",                       \
		"affinity.requiredDuringSchedulingIgnoredDuringExecution."               \
		"reservationSelectorTerms[].matchFields",                                \
		"affinity.requiredDuringSchedulingIgnoredDuringExecution."               \
		"reservationSelectorTerms[].matchFields[].*"
static const char *const affinity_keys[] = {AFFINITY_KEYS,          "reservation_labels",
					    "reservation_labels.*", "node_labels",
					    "node_labels.*",        NULL};
static const char *const exact_keys[] = {"resource_names",
					 "pod_requests",
					 "pod_requests.*",
					 "reservation_allocatable",
					 "reservation_allocatable.*",
					 NULL};
static const char *const matchable_keys[] = {
	"reservation",
	"reservation.phase",
	"reservation.nodeName",
	"reservation.allocateOnce",
	"reservation.operating_pod",
	"reservation.pod_phase",
	"reservation.ready",
	"reservation.owners",
	"reservation.owners[].labelSelector",
	"reservation.owners[].labelSelector.matchLabels",
	"reservation.owners[].labelSelector.matchLabels.*",
	"reservation.owners[].labelSelector.matchExpressions",
	"reservation.owners[].labelSelector.matchExpressions[].*",
	"assigned_pods",
	NULL};
static const char *const unschedulable_keys[] = {"reservation", "reservation.phase",
						 "reservation.deletionTimestamp",
						 "reservation.unschedulable", NULL};
static const char *const restore_keys[] = {AFFINITY_KEYS,
					   "exact_match",
					   "exact_match.*",
					   "reservations",
					   "tolerate_unschedulable",
					   "setup",
					   NULL};
static const char *const restricted_keys[] = {"reserved_names", "options", NULL};
static const char *const available_keys[] = {AFFINITY_KEYS,
					     "reservation",
					     "reservation.name",
					     "reservation.labels",
					     "reservation.labels.*",
					     "reservation.taints",
					     "reservation.taints[].*",
					     "reservation.unschedulable",
					     "reservation.owner_matches",
					     NULL};

const struct vector_row vector_reservation_match_rows[] = {
	{"reservation-match", "owner-match", owner_keys, owner_match},
	{"reservation-match", "state-predicates", state_keys, states},
	{"reservation-match", "affinity", affinity_keys, affinity},
	{"reservation-match", "exact-match", exact_keys, exact_match},
	{"reservation-match", "matchable", matchable_keys, matchable},
	{"reservation-match", "unschedulable", unschedulable_keys, unschedulable},
	{"reservation-match", "pod-to-node-restore", restore_keys, restore},
	{"reservation-match", "restricted-resources", restricted_keys, restricted},
	{"reservation-match", "availability-to-pod", available_keys, available_to},
	{0},
};
