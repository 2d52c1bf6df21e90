/* SPDX-License-Identifier: Apache-2.0
 *
 * The next actions for a StatefulSet: creating missing pods, then deleting surplus ones,
 * then an update. An ordered set does one at a time, and waits until all pods before it
 * are ready; a parallel one creates and deletes its pods at once. Updates go from the
 * highest number down in both. */
#include <string.h>

#include "api/workload/statefulset/statefulsets_priv.h"
#include "engine/json/json.h"

/* Interval of looks at facts that come without an event. */
#define POLL_USEC 1000000

/* Nothing can be created in a namespace that is being deleted. */
static bool is_ending(const struct stateful *look)
{
	const struct neap_object *ns = neap_client_newest(
		look->sets->config.client, "namespaces", "", look->base.owner->ns);

	return !ns || ns->is_deleting;
}

static void create(struct stateful *look, int64_t ordinal)
{
	char name[NEAP_OBJECT_NAME];
	struct neap_client_ask ask;

	if (stateful_claims_are_stale(look, ordinal)) {
		neap_look_again(&look->base, POLL_USEC);
		return;
	}
	if (!stateful_claims_exist(look, ordinal) ||
	    !neap_look_may_write(&look->base, look->object))
		return;
	(void)stateful_pod_name(look, ordinal, name);
	if (neap_look_ask(&look->base, ASK_CREATE, "pods", name, &ask))
		neap_client_create_take(look->sets->config.client, &ask,
					stateful_pod_new(look, ordinal));
}

/* False: not in this look. */
static bool remove_pod(struct stateful *look, const struct stateful_pod *pod)
{
	struct neap_client_ask ask;

	if (!neap_look_may_write(&look->base, pod->object))
		return false;
	if (neap_look_ask(&look->base, ASK_DELETE, "pods", pod->object->name, &ask))
		neap_client_delete(look->sets->config.client, &ask, pod->object->uid, -1);
	return true;
}

static void recreate(struct stateful *look, const struct stateful_pod *pod)
{
	bool is_failed = pod->facts->phase == NEAP_POD_FAILED;

	if (pod->facts->is_deleting || !remove_pod(look, pod))
		return;
	neap_look_note(&look->base, is_failed,
		       is_failed ? "RecreatingFailedPod" : "RecreatingTerminatedPod",
		       "StatefulSet %s/%s is recreating %s Pod %s", look->base.owner->ns,
		       look->base.owner->name, is_failed ? "failed" : "terminated",
		       pod->object->name);
}

/* Gives the pod its name as a label. */
static void identify(struct stateful *look, const struct stateful_pod *pod)
{
	const char *name = pod->object->name;
	struct neap_client_ask ask;

	if (neap_look_may_write(&look->base, pod->object) &&
	    neap_look_ask(&look->base, ASK_UPDATE, "pods", name, &ask))
		neap_client_patch_take(look->sets->config.client, &ask, false,
				       json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid",
						 pod->object->uid, "labels",
						 POD_NAME_LABEL, name));
}

static bool is_identified(const struct stateful_pod *pod)
{
	const char *label = neap_object_label(pod->object, POD_NAME_LABEL);

	return label && strcmp(label, pod->object->name) == 0;
}

/* A pod that has to be. True: the next one may have its turn. */
static bool keep(struct stateful *look, const struct stateful_pod *pod)
{
	const struct neap_pod_facts *facts = pod->facts;

	if (facts->phase == NEAP_POD_FAILED || facts->phase == NEAP_POD_SUCCEEDED) {
		recreate(look, pod);
		return false;
	}
	if (facts->phase == NEAP_POD_PENDING && !facts->is_deleting)
		(void)stateful_claims_exist(look, pod->ordinal);
	if (look->is_monotonic &&
	    (!stateful_is_healthy(pod) || !stateful_is_available(look, pod)))
		return false;
	if (facts->is_deleting)
		return true;
	if (!is_identified(pod))
		identify(look, pod);
	(void)stateful_claims_keep(look, pod, false);
	return true;
}

/* True: all pods that have to be are there, and as they should be before others go. */
static bool fill(struct stateful *look, const struct stateful_pod *pod)
{
	const struct stateful_pod *end = look->pods + look->count;
	bool is_full = true, ends = is_ending(look);

	for (int64_t i = 0; i < look->replicas && !look->base.is_partial; i++) {
		int64_t ordinal = look->start + i;
		bool is_fine;

		if (pod < end && pod->ordinal == ordinal) {
			is_fine = keep(look, pod++);
		} else {
			if (ends)
				return false;
			create(look, ordinal);
			is_fine = false;
			/* What refuses one would refuse the next, too. */
			if (neap_rounds_refused(look->sets->rounds, NULL))
				return false;
		}
		is_full = is_full && is_fine;
		if (!is_fine && look->is_monotonic)
			return false;
	}
	return is_full && !look->base.is_partial;
}

/* --- too many --- */

static bool is_condemned(const struct stateful *look, const struct stateful_pod *pod)
{
	return pod->ordinal < look->start || pod->ordinal - look->start >= look->replicas;
}

/* True: there is none. */
static bool shrink(struct stateful *look)
{
	const struct stateful_pod *first = NULL; /* that is not well */
	bool is_done = true;

	for (size_t i = 0; i < look->count && !first; i++)
		if (is_condemned(look, &look->pods[i]) &&
		    !stateful_is_healthy(&look->pods[i]))
			first = &look->pods[i];
	for (size_t i = look->count; i--;) {
		const struct stateful_pod *pod = &look->pods[i];
		bool is_kept;

		if (!is_condemned(look, pod))
			continue;
		is_done = false;
		/* Its claims know that it goes before it does. */
		is_kept = stateful_claims_keep(look, pod, true);
		if (look->is_monotonic &&
		    (pod->facts->is_deleting ||
		     (pod != first &&
		      (!stateful_is_ready(pod) || !stateful_is_available(look, pod)))))
			return false;
		if (pod->facts->is_deleting)
			continue;
		if (is_kept)
			(void)remove_pod(look, pod);
		if (look->is_monotonic || look->base.is_partial)
			return false;
	}
	return is_done;
}

/* --- an update --- */

static bool is_target(const struct stateful *look, const struct stateful_pod *pod)
{
	return !is_condemned(look, pod) && pod->ordinal >= look->start + look->partition;
}

/* One after the other. */
static void update_one(struct stateful *look)
{
	for (size_t i = look->count; i--;) {
		const struct stateful_pod *pod = &look->pods[i];

		if (!is_target(look, pod))
			continue;
		if (!stateful_is_of(pod, look->update) && !pod->facts->is_deleting) {
			(void)remove_pod(look, pod);
			return;
		}
		if (!stateful_is_healthy(pod) || !stateful_is_available(look, pod))
			return;
	}
}

/* As many at a time as may be missing. */
static void update_some(struct stateful *look)
{
	int64_t room = look->max_unavailable;

	for (size_t i = 0; i < look->count; i++)
		room -= !is_condemned(look, &look->pods[i]) &&
			!(stateful_is_healthy(&look->pods[i]) &&
			  stateful_is_available(look, &look->pods[i]));
	for (size_t i = look->count; i--;) {
		const struct stateful_pod *pod = &look->pods[i];
		bool is_well =
			stateful_is_healthy(pod) && stateful_is_available(look, pod);

		if (!is_target(look, pod) || pod->facts->is_deleting ||
		    stateful_is_of(pod, look->update))
			continue;
		if (is_well && room <= 0)
			return;
		room -= is_well;
		if (!remove_pod(look, pod))
			return;
	}
}

/* --- all of it --- */

void stateful_act(struct stateful *look)
{
	const struct stateful_pod *first = look->pods;
	const struct stateful_pod *end = look->pods + look->count;

	while (first < end && first->ordinal < look->start)
		first++;
	if (!fill(look, first) || !shrink(look) || look->base.is_failed ||
	    neap_rounds_asked(look->sets->rounds) || !look->is_rolling)
		return;
	if (look->max_unavailable > 1)
		update_some(look);
	else
		update_one(look);
}
