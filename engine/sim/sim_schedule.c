/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler: the decision core places waiting pods and Reservations, by priority,
 * then age. One that fits nowhere is tried again after a change. */
#include <stdlib.h>
#include <string.h>

#include "engine/reserve/life.h"
#include "engine/sim/sim_priv.h"

static const char *const no_fields[] = {NULL};

/* --- Reservations --- */

static int publish(struct neap_sim *sim, struct neap_sim_reservation *reservation,
		   struct neap_error *err)
{
	json_t *copy = neap_json_deep_copy(reservation->tree);
	struct neap_object *object = NULL;
	unsigned moved;
	int rc = copy ? neap_object_new_take(copy, no_fields, ++sim->last_version,
					     &object, err)
		      : neap_error_nomem(err);

	if (rc == 0)
		rc = neap_reserve_book_set(sim->book, object, &moved, err);
	(void)neap_object_unref(object);
	sim->has_moved = true;
	return rc;
}

void sim_publish_reservation(struct neap_sim *sim,
			     struct neap_sim_reservation *reservation)
{
	struct neap_error err;

	(void)sim_note(sim, publish(sim, reservation, &err), &err);
}

static int place(struct neap_sim *sim, struct neap_sim_reservation *reservation,
		 const struct neap_reserve *reserve, struct neap_pod *stand,
		 struct neap_error *err)
{
	json_t *status = NULL;
	struct neap_choice choice;
	int rc = neap_decide_pod(sim->decide, stand, &choice, err);

	if (rc < 0)
		return rc;
	if (rc == 0) {
		neap_auto_buf struct neap_buf why = {0};

		neap_buf_init(&why, 4096);
		neap_decide_explain(sim->decide, &why);
		neap_buf_addc(&why, '\0');
		status = neap_reserve_status_unplaced(
			reservation->tree, why.data ? why.data : "", sim->now_usec);
	} else {
		rc = neap_reserve_status_placed(reservation->tree, reserve, choice.node,
						false,
						neap_cluster_resources(sim->cluster),
						sim->now_usec, &status, err);
		reservation->is_placed = rc == 0;
	}
	if (rc < 0 || !status)
		return rc < 0 ? rc : neap_error_nomem(err);
	(void)json_object_set_new(reservation->tree, "status", status);
	sim_publish_reservation(sim, reservation);
	return 0;
}

static void place_reservations(struct neap_sim *sim)
{
	for (size_t i = 0; i < sim->reservation_count && sim->rc == 0; i++) {
		struct neap_sim_reservation *reservation = sim->reservations[i];
		struct neap_reserve *reserve;
		struct neap_pod *stand;
		struct neap_error err;

		if (!reservation->tree || reservation->is_placed)
			continue;
		reserve = neap_reserve_book_find(sim->book, reservation->name);
		stand = reserve ? neap_reserve_book_stand(sim->book, reserve) : NULL;
		if (stand)
			(void)sim_note(sim, place(sim, reservation, reserve, stand, &err),
				       &err);
	}
}

void sim_use_reservation(struct neap_sim *sim, const char *uid)
{
	struct neap_reserve_user users[16];
	struct neap_amounts requests[16];
	struct neap_sim_reservation *reservation = NULL;
	const struct neap_reserve *reserve;
	json_t *status = NULL;
	struct neap_error err;
	size_t count = 0;

	for (size_t i = 0; i < sim->reservation_count && !reservation; i++)
		if (sim->reservations[i]->tree &&
		    neap_json_is_text(
			    json_object_get(sim->reservations[i]->tree, "metadata"),
			    "uid", uid))
			reservation = sim->reservations[i];
	reserve =
		reservation ? neap_reserve_book_find(sim->book, reservation->name) : NULL;
	if (!reserve)
		return;
	for (size_t i = 0; i < sim->pod_count && count < NEAP_ARRAY_LEN(users); i++) {
		const struct neap_object *object = sim->pods[i]->object;
		const struct neap_pod *pod =
			neap_cluster_find_pod(sim->cluster, object->ns, object->name);

		if (!pod || strcmp(pod->reservation, uid) != 0)
			continue;
		neap_pod_amounts(pod, &requests[count]);
		users[count] = (struct neap_reserve_user){object->ns, object->name,
							  object->uid, &requests[count]};
		count++;
	}
	if (sim_note(sim,
		     neap_reserve_status_owned(reservation->tree, reserve, users, count,
					       neap_cluster_resources(sim->cluster),
					       sim->now_usec, &status, &err),
		     &err) &&
	    status) {
		(void)json_object_set_new(reservation->tree, "status", status);
		sim_publish_reservation(sim, reservation);
	}
}

/* --- pods --- */

static int bind(struct neap_sim *sim, struct neap_sim_pod *pod, struct neap_pod *seen,
		const struct neap_choice *choice, struct neap_error *err)
{
	neap_auto_json json_t *notes = NULL;
	neap_auto_free char *node = neap_strdup(choice->node);
	struct neap_claim *claim = NULL;
	const char *uid;
	int rc = node ? neap_decide_claim(sim->decide, seen, choice->row, &claim, err)
		      : neap_error_nomem(err);

	/* Nothing that it is given there is left: as if it did not fit. */
	if (rc == -NEAP_ENOFIT)
		return 0;
	if (rc < 0)
		return rc;
	notes = neap_claim_annotations(seen, claim);
	neap_claim_free(claim);
	if (!notes)
		return neap_error_nomem(err);
	sim_bind(sim, pod, node, notes);
	if (sim->rc == 0) {
		const struct neap_pod *bound = neap_cluster_find_pod(
			sim->cluster, pod->object->ns, pod->object->name);

		uid = bound ? bound->reservation : "";
		if (*uid)
			sim_use_reservation(sim, uid);
		sim_note_placed(sim, pod, node);
	}
	return 0;
}

static int by_turn(const void *one, const void *other)
{
	const struct neap_pod *a = *(struct neap_pod *const *)one;
	const struct neap_pod *b = *(struct neap_pod *const *)other;

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->created_usec != b->created_usec)
		return a->created_usec < b->created_usec ? -1 : 1;
	return neap_object_compare(a->object, b->object->ns, b->object->name);
}

static bool is_due(const struct neap_sim *sim, const struct neap_sim_pod *pod,
		   bool has_moved)
{
	return (pod->state == NEAP_SIM_NEW && pod->due_usec <= sim->now_usec) ||
	       (pod->state == NEAP_SIM_WAITING && has_moved);
}

static size_t list_due(struct neap_sim *sim, bool has_moved, struct neap_pod **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < sim->pod_count; i++) {
		const struct neap_object *object = sim->pods[i]->object;
		struct neap_pod *pod;

		if (!is_due(sim, sim->pods[i], has_moved))
			continue;
		pod = neap_cluster_find_pod(sim->cluster, object->ns, object->name);
		if (pod && !pod->is_gated)
			ret[count++] = pod;
	}
	qsort(ret, count, sizeof(struct neap_pod *), by_turn);
	return count;
}

static void try(struct neap_sim *sim, struct neap_pod *seen)
{
	struct neap_sim_pod *pod =
		neap_sim_find_pod(sim, seen->object->ns, seen->object->name);
	struct neap_choice choice;
	struct neap_error err;
	int rc = neap_decide_pod(sim->decide, seen, &choice, &err);

	if (pod->state == NEAP_SIM_NEW) {
		pod->state = NEAP_SIM_WAITING;
		pod->due_usec = NEAP_SIM_NEVER;
	}
	if (rc == 1)
		rc = bind(sim, pod, seen, &choice, &err);
	/* One that cannot be read waits for ever. */
	if (rc != -NEAP_EINVAL)
		(void)sim_note(sim, rc, &err);
}

void sim_schedule(struct neap_sim *sim)
{
	bool has_moved = sim->has_moved;
	struct neap_pod **due;
	size_t count;

	sim->has_moved = false;
	if (has_moved)
		place_reservations(sim);
	due = neap_alloc_array(sim->pod_count + 1, sizeof(struct neap_pod *));
	if (!sim_is_made(sim, due))
		return;
	count = list_due(sim, has_moved, due);
	for (size_t i = 0; i < count && sim->rc == 0; i++)
		try(sim, due[i]);
	free(due);
}
