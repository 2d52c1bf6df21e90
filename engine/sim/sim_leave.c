/* SPDX-License-Identifier: Apache-2.0
 *
 * Evictions, and the records of their results. */
#include <stdlib.h>
#include <string.h>

#include "engine/sim/sim_priv.h"

static const char *keep(struct neap_sim *sim, const char *text)
{
	const char *copy = *text ? neap_arena_strdup(&sim->texts, text) : "";

	return sim_is_made(sim, copy) ? copy : "";
}

bool sim_let_go(struct neap_sim *sim, struct neap_sim_leave *leave,
		struct neap_sim_pod *pod)
{
	if (pod->state != NEAP_SIM_LEAVING && !sim_may_evict(sim, pod)) {
		leave->refusal = "its disruption budget allows no more";
		return false;
	}
	leave->state = pod->workload ? NEAP_LEAVE_GONE : NEAP_LEAVE_UNWANTED;
	leave->left_usec = sim->now_usec;
	leave->refusal = "";
	neap_sim_delete_pod(sim, pod);
	return true;
}

struct neap_sim_leave *neap_sim_evict(struct neap_sim *sim, const char *ns,
				      const char *name, const char *strategy,
				      const char *why, const char *told,
				      enum neap_sim_how how)
{
	struct neap_sim_leave *leave = neap_alloc(sizeof(*leave));
	struct neap_sim_pod *pod = neap_sim_find_pod(sim, ns, name);

	if (!leave ||
	    !neap_grow(&sim->leaves, sim->leave_count, &sim->leave_size, sizeof(leave))) {
		free(leave);
		(void)sim_is_made(sim, NULL);
		return NULL;
	}
	sim->leaves[sim->leave_count++] = leave;
	(void)neap_pod_key(ns, name, leave->pod);
	leave->from =
		pod ? keep(sim, neap_object_field(pod->object, "spec.nodeName")) : "";
	leave->told = keep(sim, told);
	leave->landed = leave->refusal = "";
	leave->strategy = keep(sim, strategy);
	leave->why = keep(sim, why);
	leave->how = how;
	leave->asked_usec = sim->now_usec;
	leave->workload = pod ? pod->workload : NULL;
	leave->before = pod ? pod->leave : NULL;
	leave->state = NEAP_LEAVE_REFUSED;
	if (!pod || pod->state == NEAP_SIM_LEAVING) {
		leave->refusal = "it is gone";
	} else if (how == NEAP_SIM_BY_JOB) {
		leave->state = NEAP_LEAVE_ASKED;
		sim_add_job(sim, leave, pod);
	} else {
		(void)sim_let_go(sim, leave, pod);
	}
	return leave;
}

/* --- what became of it --- */

void sim_note_made(struct neap_sim *sim, struct neap_sim_pod *pod)
{
	for (size_t i = 0; i < sim->leave_count; i++) {
		struct neap_sim_leave *leave = sim->leaves[i];

		if (leave->workload != pod->workload || leave->made_usec ||
		    leave->state != NEAP_LEAVE_GONE)
			continue;
		leave->made_usec = sim->now_usec;
		pod->leave = leave;
		return;
	}
}

void sim_note_unwanted(struct neap_sim *sim, const struct neap_sim_workload *workload)
{
	for (size_t i = 0; i < sim->leave_count; i++) {
		struct neap_sim_leave *leave = sim->leaves[i];

		if (leave->workload == workload && !leave->made_usec &&
		    leave->state == NEAP_LEAVE_GONE)
			leave->state = NEAP_LEAVE_UNWANTED;
	}
}

/* Percent of the fuller of cpu and memory, with a pod's requests more. */
static int fullest(const struct neap_columns *columns, uint32_t row,
		   const struct neap_pod *more)
{
	static const uint32_t names[] = {NEAP_RESOURCE_CPU, NEAP_RESOURCE_MEMORY};
	double most = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		int64_t has = columns->allocatable[names[i]]
				      ? columns->allocatable[names[i]][row]
				      : 0;
		int64_t used = columns->used[names[i]] ? columns->used[names[i]][row] : 0;

		used += more ? neap_pod_request(more, names[i]) : 0;
		if (has > 0 && 100.0 * (double)used / (double)has > most)
			most = 100.0 * (double)used / (double)has;
	}
	return (int)(most + 0.5);
}

/* As long as the pod ends it still counts on its node. */
static bool is_there(const struct neap_sim *sim, const struct neap_sim_leave *leave,
		     const struct neap_sim_pod *successor)
{
	const struct neap_sim_pod *pod = neap_map_find(sim->by_key, leave->pod);

	return pod && pod != successor;
}

static void compare(struct neap_sim *sim, struct neap_sim_leave *leave,
		    const struct neap_sim_pod *pod)
{
	const struct neap_cluster_node *node =
		neap_cluster_find_node(sim->cluster, leave->from);
	const struct neap_columns *columns = neap_cluster_settle(sim->cluster);
	const struct neap_pod *successor =
		neap_cluster_find_pod(sim->cluster, pod->object->ns, pod->object->name);
	int own;

	if (!node || !node->object || !successor)
		return;
	own = fullest(columns, node->row, successor) - fullest(columns, node->row, NULL);
	leave->with_percent = leave->without_percent = fullest(columns, node->row, NULL);
	if (strcmp(leave->landed, leave->from) == 0)
		return;
	if (is_there(sim, leave, pod))
		leave->with_percent -= own;
	else
		leave->without_percent += own;
}

void sim_note_placed(struct neap_sim *sim, struct neap_sim_pod *pod, const char *node)
{
	struct neap_sim_leave *leave = pod->leave;

	for (size_t i = sim->leave_count; i-- > 0;) {
		struct neap_sim_leave *other = sim->leaves[i];

		if (sim->now_usec - other->asked_usec > 10 * NEAP_SIM_MINUTE)
			break;
		if (other != leave && other->left_usec && strcmp(other->from, node) == 0)
			other->let_in++;
	}
	if (!leave || leave->placed_usec)
		return;
	leave->placed_usec = sim->now_usec;
	leave->state = NEAP_LEAVE_PLACED;
	leave->landed = keep(sim, node);
	compare(sim, leave, pod);
}

void neap_sim_tell(const struct neap_sim_leave *leave, struct neap_buf *out)
{
	static const char *const states[] = {"waits for its job", "its successor waits",
					     "landed on", "no successor is wanted",
					     "was not evicted"};

	neap_buf_addf(out, "%s from %s (%s: %s): %s", leave->pod, leave->from,
		      leave->strategy, leave->why, states[leave->state]);
	if (leave->state == NEAP_LEAVE_REFUSED)
		neap_buf_addf(out, ": %s", leave->refusal);
	if (leave->state != NEAP_LEAVE_PLACED)
		return;
	neap_buf_addf(out, " %s (told %s) after %.1f s; ", leave->landed,
		      *leave->told ? leave->told : "nothing",
		      (double)(leave->placed_usec - leave->made_usec) / NEAP_SIM_SECOND);
	neap_buf_addf(out,
		      "without it: stays on %s, which is at %d %% instead of %d %%, and "
		      "%u pods that came there since find less room",
		      leave->from, leave->without_percent, leave->with_percent,
		      leave->let_in);
}
