/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deschedule/landing.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/deschedule/successor.h"
#include "engine/deschedule/waiting.h"
#include "engine/json/json.h"

static const char *const fields[] = {"spec.nodeName", NULL};

/* A successor. */
struct made {
	struct neap_object *object;
	const struct neap_world_pod *of;
	bool keeps_place;
};

struct neap_landing {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
	bool is_open, keeps_place, may_return;
	const struct neap_round *round; /* NULL: pods may land anywhere */
	struct neap_object **leaving;   /* as they were before */
	size_t leaving_count, leaving_size;
	struct made *made;
	size_t made_count, made_size;
	struct neap_pod **waiting; /* that got a node; references */
	size_t waiting_count;
	/* Of owners whose pods have no place: why, by hopeless_key. Room only shrinks. */
	struct neap_map *hopeless;
	struct neap_arena texts;
};

int neap_landing_new(struct neap_cluster *cluster, struct neap_decide *decide,
		     struct neap_landing **ret, struct neap_error *err)
{
	struct neap_landing *landing = neap_alloc(sizeof(*landing));

	if (!landing)
		return neap_error_nomem(err);
	landing->cluster = cluster;
	landing->decide = decide;
	*ret = landing;
	return 0;
}

void neap_landing_free(struct neap_landing *landing)
{
	if (!landing)
		return;
	neap_landing_end(landing);
	free(landing->leaving);
	free(landing->made);
	free(landing->waiting);
	free(landing);
}

void neap_landing_set_keeps_place(struct neap_landing *landing, bool keeps_place)
{
	landing->keeps_place = keeps_place;
}

void neap_landing_may_return(struct neap_landing *landing, bool may_return)
{
	landing->may_return = may_return;
}

void neap_landing_set_round(struct neap_landing *landing, const struct neap_round *round)
{
	landing->round = round;
}

void neap_landing_end(struct neap_landing *landing)
{
	struct neap_error err;
	unsigned moved;

	if (!landing->is_open)
		return;
	landing->is_open = false;
	landing->round = NULL;
	for (size_t i = 0; i < landing->made_count; i++) {
		neap_cluster_remove_pod(landing->cluster, landing->made[i].object->ns,
					landing->made[i].object->name, &moved);
		(void)neap_object_unref(landing->made[i].object);
	}
	for (size_t i = 0; i < landing->waiting_count; i++) {
		neap_cluster_forget(landing->cluster, landing->waiting[i]);
		(void)neap_pod_unref(landing->waiting[i]);
	}
	/* Without memory a pod goes on counting as one that is being deleted. */
	for (size_t i = 0; i < landing->leaving_count; i++) {
		(void)neap_cluster_set_pod(landing->cluster, landing->leaving[i], &moved,
					   &err);
		(void)neap_object_unref(landing->leaving[i]);
	}
	landing->made_count = landing->waiting_count = landing->leaving_count = 0;
	neap_map_free(landing->hopeless);
	landing->hopeless = NULL;
	neap_arena_done(&landing->texts);
}

/* --- pods that wait --- */

/* Counts the pod on the node, with what it takes there. 1. */
static int take_seat(struct neap_landing *landing, struct neap_pod *pod, uint32_t row,
		     struct neap_error *err)
{
	struct neap_claim *claim = NULL;
	int rc = neap_decide_claim(landing->decide, pod, row, &claim, err);

	if (rc >= 0)
		rc = neap_cluster_assume_with(landing->cluster, pod, row, claim, err);
	neap_claim_free(claim);
	return rc < 0 ? rc : 1;
}

/* Puts the pod on the best node. 1; 0: there is none. */
static int seat(struct neap_landing *landing, struct neap_pod *pod, uint32_t *ret_row,
		struct neap_error *err)
{
	struct neap_choice choice;
	int rc = neap_decide_pod_of_all(landing->decide, pod, &choice, err);

	if (rc <= 0)
		return rc;
	*ret_row = choice.row;
	return take_seat(landing, pod, choice.row, err);
}

int neap_landing_begin(struct neap_landing *landing, const struct neap_world *world,
		       int64_t now_usec, struct neap_error *err)
{
	int rc = 0;

	neap_landing_end(landing);
	landing->is_open = true;
	landing->keeps_place = false;
	landing->may_return = true;
	landing->hopeless = neap_map_new();
	if (!landing->hopeless)
		rc = neap_error_nomem(err);
	neap_decide_set_now(landing->decide, now_usec);
	free(landing->waiting);
	landing->waiting = NULL;
	if (rc == 0)
		rc = neap_waiting_list(landing->cluster, world, &landing->waiting,
				       &landing->waiting_count, err);
	for (size_t i = 0; rc == 0 && i < landing->waiting_count; i++) {
		uint32_t row;

		rc = seat(landing, landing->waiting[i], &row, err);
		/* One that fits nowhere takes no room. */
		rc = rc == -NEAP_ENOMEM ? rc : 0;
	}
	if (rc < 0)
		neap_landing_end(landing);
	return rc;
}

/* --- one pod --- */

struct trial {
	struct neap_landing *landing;
	const struct neap_world_pod *pod;
	struct neap_cluster_node *node; /* that it is on */
	json_t *tree;                   /* of the pod */
	struct neap_pod *successor;     /* borrowed from the cluster */
	bool is_full;                   /* no node has room */
};

/* Enters an object that is made of the tree into the cluster, and into the list. */
static int enter_take(struct neap_landing *landing, json_t *tree,
		      struct neap_object **ret, struct neap_error *err)
{
	struct neap_object *object = NULL;
	unsigned moved;
	int rc = tree ? neap_object_new_take(tree, fields, 1, &object, err)
		      : neap_error_nomem(err);

	if (rc == 0)
		rc = neap_cluster_set_pod(landing->cluster, object, &moved, err);
	if (rc < 0) {
		(void)neap_object_unref(object);
		return rc;
	}
	*ret = object;
	return 0;
}

static int mark_leaving(struct trial *trial, struct neap_error *err)
{
	struct neap_landing *landing = trial->landing;
	struct neap_object *object = NULL;
	json_t *tree;
	int rc;

	if (!neap_grow(&landing->leaving, landing->leaving_count, &landing->leaving_size,
		       sizeof(object)))
		return neap_error_nomem(err);
	tree = neap_json_deep_copy(trial->tree);
	if (tree)
		(void)json_object_set_new(json_object_get(tree, "metadata"),
					  "deletionTimestamp",
					  json_string("1970-01-01T00:00:00Z"));
	rc = enter_take(landing, tree, &object, err);
	if (rc < 0)
		return rc;
	(void)neap_object_unref(object);
	landing->leaving[landing->leaving_count++] =
		neap_object_ref(trial->pod->pod->object);
	return 0;
}

static void unmark_leaving(struct neap_landing *landing)
{
	struct neap_object *object = landing->leaving[--landing->leaving_count];
	struct neap_error err;
	unsigned moved;

	(void)neap_cluster_set_pod(landing->cluster, object, &moved, &err);
	(void)neap_object_unref(object);
}

static int make_successor(struct trial *trial, struct neap_error *err)
{
	struct neap_landing *landing = trial->landing;
	struct neap_object *object = NULL;
	char name[NEAP_OBJECT_NAME + 24];
	json_t *tree;
	int rc;

	if (!neap_grow(&landing->made, landing->made_count, &landing->made_size,
		       sizeof(*landing->made)))
		return neap_error_nomem(err);
	/* No pod has such a name. */
	(void)snprintf(name, sizeof(name), "%s~%zu", trial->pod->pod->object->name,
		       landing->made_count);
	tree = neap_successor_new(trial->tree, name, name);
	if (tree && landing->keeps_place && trial->node &&
	    !neap_successor_avoid(tree, trial->node->name)) {
		json_decref(tree);
		tree = NULL;
	}
	rc = enter_take(landing, tree, &object, err);
	if (rc < 0)
		return rc;
	trial->successor =
		neap_cluster_find_pod(landing->cluster, object->ns, object->name);
	landing->made[landing->made_count++] =
		(struct made){object, trial->pod, landing->keeps_place};
	return 0;
}

static void unmake_successor(struct neap_landing *landing)
{
	struct neap_object *object = landing->made[--landing->made_count].object;
	unsigned moved;

	neap_cluster_remove_pod(landing->cluster, object->ns, object->name, &moved);
	(void)neap_object_unref(object);
}

static const struct neap_world_owner *controller_of(const struct neap_world_pod *pod)
{
	for (size_t i = 0; i < pod->owner_count; i++)
		if (pod->owners[i].is_controller)
			return &pod->owners[i];
	return NULL;
}

/* A pod of the same name is made only once the old one is gone, which leaves its room. */
static bool comes_after(const struct neap_world_pod *pod)
{
	const struct neap_world_owner *owner = controller_of(pod);

	return owner && strcmp(owner->kind, "StatefulSet") == 0;
}

static int seat_after(struct trial *trial, uint32_t *row, struct neap_error *err)
{
	struct neap_landing *landing = trial->landing;
	const struct neap_object *object = trial->pod->pod->object;
	struct neap_pod *old =
		neap_cluster_find_pod(landing->cluster, object->ns, object->name);
	struct neap_cluster_node *node =
		old ? neap_cluster_lift(landing->cluster, old) : NULL;
	struct neap_choice choice;
	int rc = neap_decide_pod_of_all(landing->decide, trial->successor, &choice, err);

	if (node)
		neap_cluster_put_back(landing->cluster, old, node);
	if (rc <= 0)
		return rc;
	if (choice.row == *row)
		return 1;
	/* Where it was it needs no more room than it has. */
	neap_cluster_forget(landing->cluster, trial->successor);
	*row = choice.row;
	if (node && choice.row == node->row)
		return 1;
	rc = neap_cluster_assume(landing->cluster, trial->successor, choice.row, err);
	return rc < 0 ? rc : 1;
}

static int refuse(struct neap_landing *landing, struct neap_error *err)
{
	neap_auto_buf struct neap_buf text = {0};
	neap_auto_free char *why = NULL;

	neap_buf_init(&text, 4096);
	neap_decide_explain(landing->decide, &text);
	why = neap_buf_take(&text);
	return neap_error_set(err, NEAP_ENOFIT, "%s",
			      why ? why : "no node has room for its successor");
}

/* Of the nodes that it has to land on the best, for a Reservation that prefers it. */
static int pick_target(struct neap_landing *landing, const struct neap_pod *pod,
		       uint32_t *ret_row, struct neap_error *err)
{
	const struct neap_round *round = landing->round;
	uint32_t *rows = neap_alloc_array(round->target_count + 1, sizeof(*rows));
	struct neap_verdict fits = {0}, points = {0};
	size_t count = 0, best = 0;
	int rc = rows ? 0 : neap_error_nomem(err);

	for (size_t i = 0; rc == 0 && i < round->target_count; i++) {
		const struct neap_cluster_node *node =
			neap_cluster_find_node(landing->cluster, round->targets[i]->name);

		if (node && node->object)
			rows[count++] = node->row;
	}
	if (rc == 0)
		rc = neap_decide_rows(landing->decide, pod, rows, count, &fits, err);
	count = rc == 0 ? fits.count : 0;
	/* Borrowed until the next decision. */
	if (count)
		memcpy(rows, fits.rows, count * sizeof(*rows));
	if (count)
		rc = neap_decide_scores(landing->decide, pod, rows, count, &points, err);
	for (size_t i = 1; rc == 0 && points.scores && i < points.count; i++)
		if (points.scores[i] > points.scores[best])
			best = i;
	*ret_row = count ? rows[best] : 0;
	free(rows);
	return rc < 0 ? rc : count > 0;
}

static int seat_on_target(struct neap_landing *landing, struct neap_pod *pod,
			  uint32_t *ret_row, struct neap_error *err)
{
	int rc = pick_target(landing, pod, ret_row, err);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return neap_error_set(err, NEAP_ENOFIT,
				      "none of the nodes that it is to go to has room "
				      "for it");
	return take_seat(landing, pod, *ret_row, err);
}

static bool is_target(const struct neap_landing *landing, const char *node)
{
	return !landing->round || neap_round_is_target(landing->round, node);
}

static int look(struct trial *trial, char ret_node[NEAP_ROUND_NODE],
		struct neap_error *err)
{
	struct neap_landing *landing = trial->landing;
	bool picks = landing->keeps_place && landing->round && landing->round->targets;
	const char *node;
	uint32_t row = 0;
	int rc = picks ? seat_on_target(landing, trial->successor, &row, err)
		       : seat(landing, trial->successor, &row, err);

	if (rc == 1 && !landing->keeps_place && comes_after(trial->pod))
		rc = seat_after(trial, &row, err);
	if (rc == 0) {
		trial->is_full = true;
		return refuse(landing, err);
	}
	if (rc < 0)
		return rc;
	if (trial->node && row == trial->node->row && !landing->may_return)
		return neap_error_set(err, NEAP_ENOFIT,
				      "its successor would land on the same node");
	node = neap_cluster_node_at(landing->cluster, row)->name;
	if (!is_target(landing, node))
		return neap_error_set(err, NEAP_ENOFIT,
				      "it would land on %s, where it is not to go", node);
	(void)neap_strcopy(ret_node, NEAP_ROUND_NODE, node);
	return 0;
}

#define HOPELESS_KEY (NEAP_OBJECT_UID + NEAP_OBJECT_NAME + 2)

/* Whose place depends on nothing but room: then it is the same for all pods of the owner
 * (on the same node, when they have to leave it). NULL: it depends on more. */
static const char *hopeless_key(const struct neap_landing *landing,
				const struct neap_world_pod *pod, char to[HOPELESS_KEY])
{
	const struct neap_world_owner *owner = controller_of(pod);

	if (!owner || pod->pod->spread_count || pod->pod->has_affinity ||
	    *pod->pod->near_name)
		return NULL;
	(void)snprintf(to, HOPELESS_KEY, "%s/%s", owner->uid,
		       landing->keeps_place ? pod->node->name : "");
	return to;
}

static int try(struct trial *trial, char ret_node[NEAP_ROUND_NODE],
	       struct neap_error *err)
{
	struct neap_landing *landing = trial->landing;
	char buf[HOPELESS_KEY];
	const char *key = hopeless_key(landing, trial->pod, buf);
	int rc = mark_leaving(trial, err);

	if (rc < 0)
		return rc;
	rc = make_successor(trial, err);
	if (rc == 0) {
		rc = look(trial, ret_node, err);
		if (rc < 0)
			unmake_successor(landing);
	}
	if (rc < 0)
		unmark_leaving(landing);
	if (trial->is_full && key) {
		char *why = neap_arena_strdup(&landing->texts, err->msg);

		if (why)
			(void)neap_map_set(landing->hopeless, key, why);
	}
	return rc;
}

/* A pod that is not replaced, or has no node that it could leave, needs no place. */
static bool needs_place(const struct neap_landing *landing,
			const struct neap_world_pod *pod)
{
	const struct neap_object *object = pod->pod->object;

	return controller_of(pod) && pod->node && (pod->flags & NEAP_WORLD_IS_LIVE) &&
	       neap_cluster_find_pod(landing->cluster, object->ns, object->name);
}

int neap_landing_place(void *arg, const struct neap_world_pod *pod,
		       char ret_node[NEAP_ROUND_NODE], struct neap_error *err)
{
	struct neap_landing *landing = arg;
	struct trial trial = {.landing = landing, .pod = pod};
	char buf[HOPELESS_KEY];
	const char *key, *why;
	int rc;

	if (!needs_place(landing, pod)) {
		*ret_node = '\0';
		return 0;
	}
	key = hopeless_key(landing, pod, buf);
	why = key ? neap_map_find(landing->hopeless, key) : NULL;
	if (why)
		return neap_error_set(err, NEAP_ENOFIT, "%s", why);
	trial.node = neap_cluster_find_node(landing->cluster, pod->node->name);
	trial.tree = neap_object_tree(pod->pod->object);
	rc = trial.tree ? try(&trial, ret_node, err) : neap_error_nomem(err);
	json_decref(trial.tree);
	return rc;
}

size_t neap_landing_count(const struct neap_landing *landing)
{
	return landing->made_count;
}

void neap_landing_take_back(struct neap_landing *landing, size_t count)
{
	struct neap_map *hopeless;

	if (landing->made_count <= count)
		return;
	while (landing->made_count > count) { /* each has a pod that leaves */
		unmake_successor(landing);
		unmark_leaving(landing);
	}
	/* There is more room now. Without memory some pods stay that could leave. */
	hopeless = neap_map_new();
	if (!hopeless)
		return;
	neap_map_free(landing->hopeless);
	landing->hopeless = hopeless;
}

/* --- once more, in the order in which it will happen --- */

static struct neap_pod *successor_of(const struct neap_landing *landing, size_t i)
{
	const struct neap_object *object = landing->made[i].object;

	return neap_cluster_find_pod(landing->cluster, object->ns, object->name);
}

static void correct(struct neap_round *round, const struct neap_world_pod *pod,
		    const char *node)
{
	for (size_t i = 0; i < round->said_count; i++)
		if (round->said[i].pod == pod && !round->said[i].is_taken_back &&
		    round->said[i].answer.outcome == NEAP_ROUND_EVICTED)
			round->said[i].answer.node = neap_round_keep_text(round, node);
}

/* What is reserved is where it was told. */
static bool is_late(const struct made *made)
{
	return !made->keeps_place && comes_after(made->of);
}

static int land(struct neap_landing *landing, struct neap_round *round, bool late,
		struct neap_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < landing->made_count; i++) {
		struct neap_error why;
		uint32_t row;

		if (landing->made[i].keeps_place || is_late(&landing->made[i]) != late)
			continue;
		rc = seat(landing, successor_of(landing, i), &row, &why);
		if (rc == 1)
			correct(round, landing->made[i].of,
				neap_cluster_node_at(landing->cluster, row)->name);
		rc = rc == -NEAP_ENOMEM ? neap_error_nomem(err) : 0;
	}
	return rc;
}

/* The pods that leave are gone. */
static void go(struct neap_landing *landing)
{
	for (size_t i = 0; i < landing->leaving_count; i++) {
		const struct neap_object *object = landing->leaving[i];
		unsigned moved;

		neap_cluster_remove_pod(landing->cluster, object->ns, object->name,
					&moved);
	}
}

int neap_landing_tell(struct neap_landing *landing, struct neap_round *round,
		      struct neap_error *err)
{
	bool has_late = false;
	int rc;

	for (size_t i = 0; i < landing->made_count; i++)
		has_late = has_late || is_late(&landing->made[i]);
	if (!has_late)
		return 0;
	for (size_t i = 0; i < landing->made_count; i++)
		if (!landing->made[i].keeps_place)
			neap_cluster_forget(landing->cluster, successor_of(landing, i));
	rc = land(landing, round, false, err);
	if (rc < 0)
		return rc;
	go(landing);
	return land(landing, round, true, err);
}
