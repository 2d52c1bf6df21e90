/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods of one controller leave one after the other. Reservations for them have the same
 * owner, so the successor of one could take the room of another, whose job would fail
 * while its own room stays empty. Each leaves when the successor of the one before has
 * its place; a successor that never comes, as the workload was scaled down, is not waited
 * for. What is remembered may be lost: objects tell enough to go on. */
#include <stdio.h>
#include <string.h>

#include "api/migrate/migrate_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/reserve/reserve.h"

/* How long a successor may take to be created and placed once the pod is gone. */
#define COMES_USEC (INT64_C(30) * 1000000)
/* A pod that takes longer to end is not waited for. */
#define GRACE_MAX_S 86400
/* Orders count down to it; until the year 2128. */
#define ORDER_END_MS INT64_C(5000000000000)

/* Of a pod that is gone its Reservation tells. */
static const char *controller_of(const struct neap_migrate_view *view)
{
	const char *uid = neap_json_text(neap_migrate_controller(view->pod), "uid");
	const json_t *owner =
		json_array_get(neap_json_at(view->reservation, "spec.owners"), 0);

	return *uid ? uid : neap_json_text_at(owner, "controller.uid");
}

static bool is_sibling(const struct migrate_memory *one,
		       const struct migrate_memory *other)
{
	return one != other && *one->controller &&
	       strcmp(one->controller, other->controller) == 0;
}

static void begin(struct migrate_memory *memory, const struct neap_migrate_view *view,
		  int64_t grace_s)
{
	if (grace_s < 0)
		grace_s = json_integer_value(
			neap_json_at(view->pod, "spec.terminationGracePeriodSeconds"));
	if (grace_s < 0 || grace_s > GRACE_MAX_S)
		grace_s = GRACE_MAX_S;
	memory->leaves_usec = view->now_usec;
	memory->leaves_for_usec = COMES_USEC + grace_s * 1000000;
}

void migrate_sibling_stays(struct neap_migrate *migrate, struct migrate_memory *memory)
{
	if (!memory->leaves_usec)
		return;
	memory->leaves_usec = 0;
	/* Others look again by themselves, should this one not go. */
	for (size_t i = 0; i < neap_map_count(migrate->memory); i++) {
		struct migrate_memory *other = neap_map_at(migrate->memory, i, NULL);

		if (!other->is_behind || !is_sibling(memory, other))
			continue;
		other->is_behind = false;
		neap_feed_due(migrate->feed, "", other->name, 0);
		return;
	}
}

/* The pod is on its way, by an eviction that the status tells of. */
static bool was_evicted(const struct neap_migrate_view *view)
{
	const json_t *condition =
		neap_json_condition(json_object_get(view->job, "status"), "Eviction");

	return (neap_json_is_text(condition, "status", "True") ||
		neap_json_is_text(condition, "reason", "Evicting")) &&
	       (!view->pod || neap_json_at(view->pod, "metadata.deletionTimestamp"));
}

void migrate_sibling_note(struct neap_migrate *migrate, struct migrate_memory *memory,
			  const struct neap_migrate_view *view, bool is_active)
{
	bool is_placed = json_array_size(neap_json_at(view->reservation,
						      "status.currentOwners")) > 0;

	if (!*memory->controller)
		(void)neap_strcopy(memory->controller, sizeof(memory->controller),
				   controller_of(view));
	if (!is_active || !view->reservation || is_placed)
		migrate_sibling_stays(migrate, memory);
	else if (!memory->leaves_usec && !memory->has_left && was_evicted(view))
		begin(memory, view, -1);
	memory->has_left = memory->has_left || memory->leaves_usec;
}

bool migrate_sibling_holds(const struct neap_migrate *migrate,
			   struct migrate_memory *memory,
			   const struct neap_migrate_view *view)
{
	memory->is_behind = false;
	for (size_t i = 0; view->reservation && !memory->is_behind &&
			   i < neap_map_count(migrate->memory);
	     i++) {
		const struct migrate_memory *other =
			neap_map_at(migrate->memory, i, NULL);
		int64_t since = view->now_usec - other->leaves_usec;

		memory->is_behind = other->leaves_usec && is_sibling(memory, other) &&
				    since >= 0 && since <= other->leaves_for_usec;
	}
	return memory->is_behind;
}

/* The room of a pod that leaves comes before that of all whose pods stay, as their order
 * is the time of their creation, and before that of one whose eviction was refused. */
static void put_first(struct neap_migrate *migrate, struct migrate_memory *memory,
		      const struct neap_migrate_view *view)
{
	const struct neap_round_ask what = {
		MIGRATE_LABEL, RESERVATIONS, "",
		neap_json_text_at(view->reservation, "metadata.name"),
		neap_json_text_at(view->job, "metadata.uid")};
	struct neap_client_ask ask;
	char order[32];
	json_t *patch;

	if (memory->is_first || !neap_migrate_made(view->job, view->reservation))
		return;
	(void)snprintf(order, sizeof(order), "%lld",
		       (long long)((ORDER_END_MS - view->now_usec / 1000) / 10));
	patch = json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid",
			  neap_json_text_at(view->reservation, "metadata.uid"), "labels",
			  NEAP_KEY_RESERVATION_ORDER, order);
	if (patch && neap_rounds_ask(migrate->rounds, &what, &ask)) {
		neap_client_patch_take(migrate->config.client, &ask, false,
				       json_incref(patch));
		memory->is_first = true;
	}
	json_decref(patch);
	for (size_t i = 0; i < neap_map_count(migrate->memory); i++) {
		struct migrate_memory *other = neap_map_at(migrate->memory, i, NULL);

		if (is_sibling(memory, other))
			other->is_first = false;
	}
}

void migrate_sibling_leaves(struct neap_migrate *migrate, struct migrate_memory *memory,
			    const struct neap_migrate_view *view, int64_t grace_s)
{
	if (!view->reservation)
		return;
	put_first(migrate, memory, view);
	begin(memory, view, grace_s);
}
