/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/reserve/ask.h"

#include <string.h>

#include "engine/reserve/reserve_priv.h"

#define KEY_UNSCHEDULABLE "node.kubernetes.io/unschedulable"

/* --- reading --- */

static int read_affinity(const json_t *json, struct neap_arena *arena,
			 struct neap_reserve_ask *ask, struct neap_error *err)
{
	const json_t *required =
		json_object_get(json, "requiredDuringSchedulingIgnoredDuringExecution");
	const char *name = json_string_value(json_object_get(json, "name"));
	int rc;

	if (!json_is_object(json))
		return neap_error_set(err, NEAP_EINVAL, "is not an object");
	ask->has_affinity = true;
	if (name && *name)
		ask->name = neap_arena_strdup(arena, name);
	ask->has_terms = json_is_object(required);
	rc = neap_terms_read(&ask->terms,
			     json_object_get(required, "reservationSelectorTerms"), arena,
			     err);
	if (rc == 0)
		rc = neap_term_read_map(&ask->selector,
					json_object_get(json, "reservationSelector"),
					arena, err);
	if (rc == 0)
		rc = neap_tolerations_read(json_object_get(json, "tolerations"), arena,
					   &ask->tolerations, &ask->toleration_count,
					   err);
	return rc < 0 || !arena->failed ? rc : neap_error_nomem(err);
}

static int read_exact(const json_t *json, const struct neap_resources *resources,
		      struct neap_arena *arena, struct neap_reserve_ask *ask,
		      struct neap_error *err)
{
	const json_t *names = json_object_get(json, "resourceNames");
	size_t count = json_array_size(names);
	uint32_t *exact;

	if (count > NEAP_AMOUNTS_MAX)
		return neap_error_field(err, NEAP_ETOOLARGE, "resourceNames",
					"more than %d", NEAP_AMOUNTS_MAX);
	exact = neap_arena_array(arena, count, sizeof(*exact));
	if (!exact)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(names, i));

		exact[i] = neap_resources_find(resources, name ? name : "");
	}
	ask->exact = exact;
	ask->exact_count = count;
	return 0;
}

int neap_reserve_ask_read(const struct neap_pod *pod, const json_t *tree,
			  const struct neap_resources *resources,
			  struct neap_arena *arena, struct neap_reserve_ask *ret,
			  struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	const json_t *notes = json_object_get(meta, "annotations");
	const char *ignored =
		neap_object_label(pod->object, NEAP_KEY_RESERVATION_IGNORED);
	json_t *json;
	int rc;

	*ret = (struct neap_reserve_ask){.pod = pod};
	ret->is_ignoring = ignored && strcmp(ignored, "true") == 0;
	rc = neap_reserve_refs_read(arena, json_object_get(meta, "ownerReferences"),
				    &ret->owner_refs, &ret->owner_ref_count, err);
	if (rc < 0)
		return neap_error_infield(err, "metadata.ownerReferences");
	rc = neap_reserve_annotation(notes, NEAP_KEY_RESERVATION_AFFINITY, &json, err);
	if (rc == 0 && json) {
		rc = read_affinity(json, arena, ret, err);
		if (rc < 0)
			(void)neap_error_wrap(err, "annotation %s",
					      NEAP_KEY_RESERVATION_AFFINITY);
	}
	json_decref(json);
	if (rc < 0)
		return rc;
	rc = neap_reserve_annotation(notes, NEAP_KEY_RESERVATION_EXACT, &json, err);
	if (rc == 0 && json)
		rc = read_exact(json, resources, arena, ret, err);
	json_decref(json);
	return rc;
}

/* --- owners --- */

static bool is_same(const char *wanted, const char *is)
{
	return !wanted || (is && strcmp(wanted, is) == 0);
}

static bool is_object(const struct neap_reserve_ref *ref,
		      const struct neap_reserve_ask *ask)
{
	const struct neap_object *object = ask->pod->object;

	return is_same(ref->uid, object->uid) && is_same(ref->name, object->name) &&
	       is_same(ref->ns, object->ns) && is_same(ref->api_version, "v1");
}

static bool has_controller(const struct neap_reserve_ref *ref,
			   const struct neap_reserve_ask *ask)
{
	if (!is_same(ref->ns, ask->pod->object->ns))
		return false;
	for (size_t i = 0; i < ask->owner_ref_count; i++) {
		const struct neap_reserve_ref *is = &ask->owner_refs[i];

		if (is_same(ref->uid, is->uid) && is_same(ref->name, is->name) &&
		    is_same(ref->kind, is->kind) &&
		    is_same(ref->api_version, is->api_version) &&
		    (ref->controller == NEAP_REF_NOT_SAID ||
		     ref->controller == is->controller))
			return true;
	}
	return false;
}

bool neap_reserve_owner_takes(const struct neap_reserve_owner *owner,
			      const struct neap_reserve_ask *ask)
{
	return (!owner->has_object || is_object(&owner->object, ask)) &&
	       (!owner->has_controller || has_controller(&owner->controller, ask)) &&
	       (!owner->selector ||
		neap_object_is_selected(ask->pod->object, owner->selector));
}

bool neap_reserve_owners_take(const struct neap_reserve *reserve,
			      const struct neap_reserve_ask *ask)
{
	for (size_t i = 0; i < reserve->owner_count; i++)
		if (neap_reserve_owner_takes(&reserve->owners[i], ask))
			return true;
	return false;
}

/* --- one reservation --- */

bool neap_reserve_tolerates(const struct neap_reserve_ask *ask, const char *key,
			    const char *value, enum neap_taint_effect effect)
{
	for (size_t i = 0; i < ask->toleration_count; i++)
		if (neap_toleration_takes(&ask->tolerations[i], key, value, effect))
			return true;
	return false;
}

struct labels {
	const struct neap_object *reserve, *node;
};

static const char *label_of(const void *arg, const char *key)
{
	const struct labels *labels = arg;
	const char *value = neap_object_label(labels->reserve, key);

	return value || !labels->node ? value : neap_object_label(labels->node, key);
}

bool neap_reserve_is_selected(const struct neap_reserve *reserve,
			      const struct neap_object *node,
			      const struct neap_reserve_ask *ask)
{
	const struct labels labels = {reserve->object, node};
	const char *name = reserve->object->name;
	bool is_found = !ask->has_terms;

	for (size_t i = 0; !is_found && i < ask->terms.count; i++)
		is_found = neap_term_matches_with(&ask->terms.terms[i], name, label_of,
						  &labels);
	return is_found &&
	       (!ask->selector.count ||
		neap_term_matches_with(&ask->selector, name, label_of, &labels));
}

static bool find(const struct neap_amount *of, size_t count, uint32_t resource,
		 int64_t *ret)
{
	for (size_t i = 0; i < count; i++)
		if (of[i].resource == resource) {
			*ret = of[i].amount;
			return true;
		}
	return false;
}

bool neap_reserve_is_exact(const struct neap_amounts *allocatable,
			   const struct neap_reserve_ask *ask)
{
	int64_t kept = 0, asked = 0;

	for (size_t i = 0; i < ask->exact_count; i++) {
		bool is_kept =
			find(allocatable->of, allocatable->count, ask->exact[i], &kept);
		bool is_asked = find(ask->pod->requests, ask->pod->request_count,
				     ask->exact[i], &asked);

		if (!is_kept && !is_asked)
			return true;
		if (is_kept != is_asked || kept != asked)
			return false;
	}
	return true;
}

static bool is_kept_off(const struct neap_reserve *reserve,
			const struct neap_reserve_ask *ask)
{
	for (size_t i = 0; i < reserve->taint_count; i++) {
		const struct neap_reserve_taint *taint = &reserve->taints[i];

		if (taint->effect != NEAP_TAINT_PREFER_NO_SCHEDULE &&
		    !neap_reserve_tolerates(ask, taint->key, taint->value, taint->effect))
			return true;
	}
	return false;
}

bool neap_reserve_may_take(const struct neap_reserve *reserve,
			   const struct neap_object *node,
			   const struct neap_reserve_ask *ask)
{
	if (ask->name && strcmp(ask->name, reserve->object->name) != 0)
		return false;
	/* Taints keep off only pods with reservation annotations, as in Koordinator. */
	if (!ask->name && ((ask->has_affinity && is_kept_off(reserve, ask)) ||
			   !neap_reserve_is_selected(reserve, node, ask)))
		return false;
	return neap_reserve_is_exact(reserve->phase == NEAP_RESERVE_PENDING
					     ? &reserve->requests
					     : &reserve->allocatable,
				     ask);
}

const char *neap_reserve_why_not(const struct neap_reserve *reserve,
				 const struct neap_object *node,
				 const struct neap_reserve_ask *ask, bool is_owner)
{
	if (!is_owner)
		return "its owners do not name the pod";
	if (ask->name) {
		if (strcmp(ask->name, reserve->object->name) != 0)
			return "the pod names another one";
	} else if (neap_reserve_is_closed(reserve) &&
		   !neap_reserve_tolerates(ask, KEY_UNSCHEDULABLE, "",
					   NEAP_TAINT_NO_SCHEDULE)) {
		return "it takes no new owners";
	} else if (ask->has_affinity && is_kept_off(reserve, ask)) {
		/* Only pods with reservation annotations, as in Koordinator. */
		return "it has a taint that the pod's reservation-affinity does not "
		       "tolerate";
	} else if (!neap_reserve_is_selected(reserve, node, ask)) {
		return "the pod's reservation-affinity does not select it";
	}
	return neap_reserve_is_exact(&reserve->allocatable, ask)
		       ? NULL
		       : "it has not exactly the amounts that the pod asks for";
}

enum neap_reserve_match neap_reserve_match(const struct neap_reserve *reserve,
					   const struct neap_object *node,
					   const struct neap_reserve_ask *ask,
					   bool is_owner)
{
	if (ask->is_ignoring)
		return NEAP_RESERVE_IGNORED;
	return neap_reserve_why_not(reserve, node, ask, is_owner) ? NEAP_RESERVE_UNMATCHED
								  : NEAP_RESERVE_MATCHED;
}
