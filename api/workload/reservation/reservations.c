/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations after placement: who uses them, when they end, when they are deleted. The
 * status is computed from the pods that name the reservation. So it is right again after
 * a crash between a pod's annotation, its binding and this status. Most looks find no
 * change, and read nothing. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/reservation/reservations_priv.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

/* The period of collection. */
#define ROUND_USEC (INT64_C(60) * 1000000)
/* Bytes of a pod's text that one step searches. */
#define RESERVATION_SEARCH_BYTES 64

/* --- what happens --- */

static void due(void *arg, struct reservation_target *target)
{
	struct neap_reservations *reservations = arg;

	target->version = 0;
	if (target->is_known)
		neap_feed_due(reservations->feed, target->ns, target->name, 0);
}

static void heard_reservation(struct neap_reservations *reservations,
			      const struct neap_client_event *event)
{
	const struct neap_object *object = event->object;

	if (event->what == NEAP_CLIENT_DELETED)
		reservation_target_drop(&reservations->index, object->uid);
	else if (!reservation_target_set(&reservations->index, object))
		neap_feed_restart(reservations->feed);
	else
		neap_feed_due(reservations->feed, object->ns, object->name, 0);
}

static void heard_pod(struct neap_reservations *reservations,
		      const struct neap_client_event *event)
{
	const struct neap_object *pod = event->object;
	bool is_gone = event->what == NEAP_CLIENT_DELETED;

	neap_feed_spend(reservations->feed,
			reservation_may_use(pod)
				? 2 * neap_steps_of_text(pod)
				: 1 + pod->text_len / RESERVATION_SEARCH_BYTES);
	if (!reservation_user_set(&reservations->index, pod, is_gone,
				  reservations->resources, due, reservations))
		neap_feed_restart(reservations->feed);
	if (is_gone || !reservation_is_pod(pod)) {
		if (event->before && reservation_is_pod(event->before))
			reservation_target_drop(&reservations->index, pod->uid);
		return;
	}
	if (reservation_target_set(&reservations->index, pod))
		neap_feed_due(reservations->feed, pod->ns, pod->name, 0);
	else
		neap_feed_restart(reservations->feed);
}

static void heard_node(struct neap_reservations *reservations,
		       const struct neap_client_event *event)
{
	const struct neap_map *targets = reservations->index.targets;

	if (event->what != NEAP_CLIENT_DELETED)
		return;
	neap_feed_spend(reservations->feed, (int64_t)neap_map_count(targets));
	for (size_t i = 0; i < neap_map_count(targets); i++) {
		struct reservation_target *target = neap_map_at(targets, i, NULL);

		if (strcmp(target->node, event->object->name) == 0)
			due(reservations, target);
	}
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct neap_reservations *reservations = arg;

	if (strcmp(resource, RESERVATIONS) == 0)
		heard_reservation(reservations, event);
	else if (strcmp(resource, "pods") == 0)
		heard_pod(reservations, event);
	else
		heard_node(reservations, event);
}

static void anew(void *arg)
{
	struct neap_reservations *reservations = arg;

	reservation_index_clear(&reservations->index);
}

/* --- a look --- */

struct look {
	struct neap_reservations *reservations;
	struct neap_object *object;
	struct reservation_target *target;
	struct neap_reserve *reserve;
	bool node_exists;
	int64_t now;
};

static bool node_exists(const struct neap_reservations *reservations, const char *node)
{
	return neap_client_find(reservations->config.client, "nodes", "", node) != NULL;
}

static bool is_over(const struct neap_reserve *reserve)
{
	return reserve->phase == NEAP_RESERVE_SUCCEEDED ||
	       reserve->phase == NEAP_RESERVE_FAILED;
}

/* Nothing to do until then, unless something changes. */
static int64_t settle(struct look *look, int64_t until_usec)
{
	look->target->version = look->object->version;
	look->target->until_usec = until_usec;
	return neap_reserve_next_look(until_usec, look->now);
}

/* If the node is gone, the next period collects the reservation, and it is visible until
 * then. */
static int64_t collection_of(const struct look *look)
{
	int64_t keep = look->reservations->keep_usec;
	int64_t until = neap_reserve_collection(look->reserve, look->node_exists, keep);

	return until > INT64_MIN
		       ? until
		       : neap_reserve_collection(look->reserve, true,
						 keep < ROUND_USEC ? keep : ROUND_USEC);
}

static int64_t collect(struct look *look)
{
	struct neap_reservations *reservations = look->reservations;
	const struct neap_round_ask what = {RESERVATION_COLLECTED, RESERVATIONS, "",
					    look->object->name, look->object->uid};
	int64_t until = collection_of(look);
	struct neap_client_ask ask;

	if (look->now <= until || look->object->is_deleting)
		return settle(look, until);
	neap_feed_spend(reservations->feed, neap_steps_of_write(look->object));
	if (neap_rounds_ask(reservations->rounds, &what, &ask))
		neap_client_delete(reservations->config.client, &ask, look->object->uid,
				   -1);
	return 0;
}

/* Asks for the status; takes it. */
static int64_t write_status(struct look *look, enum reservation_ask why, json_t *tree,
			    json_t *status)
{
	struct neap_reservations *reservations = look->reservations;
	const struct neap_round_ask what = {(int)why, RESERVATIONS, "",
					    look->object->name, look->object->uid};
	struct neap_client_ask ask;

	if (!status || json_object_set_new(tree, "status", status) < 0)
		return -1;
	neap_feed_spend(reservations->feed, neap_steps_of_write(look->object));
	if (neap_rounds_ask(reservations->rounds, &what, &ask))
		neap_client_update_take(reservations->config.client, &ask, true,
					json_incref(tree));
	return 0;
}

static int64_t expire(struct look *look, json_t *tree)
{
	enum reservation_ask why = RESERVATION_TTL;

	if (!look->node_exists)
		why = RESERVATION_NODE_GONE;
	else if (look->now > look->reserve->expires_usec)
		why = RESERVATION_EXPIRES;
	return write_status(look, why, tree,
			    neap_reserve_status_expired(tree, look->now));
}

/* A new array of the users that count, NULL without memory. */
static struct neap_reserve_user *find_owners(const struct look *look, size_t *ret_count)
{
	struct reservation_user *user;
	struct neap_reserve_user *owners;
	size_t count = 0;

	for (user = look->target->users; user; user = user->next)
		count++;
	owners = neap_alloc_array(count + 1, sizeof(*owners));
	count = 0;
	for (user = look->target->users; owners && user; user = user->next)
		if (reservation_user_counts(user, look->reserve->node_name))
			owners[count++] = (struct neap_reserve_user){
				.ns = user->ns,
				.name = user->name,
				.uid = user->uid,
				.requests = reservation_user_requests(
					user, look->reservations->resources)};
	*ret_count = count;
	return owners;
}

static int64_t sync_owners(struct look *look, json_t *tree)
{
	struct neap_reserve_user *owners;
	struct neap_error err;
	json_t *status = NULL;
	size_t count;
	int changed;

	if (!*look->reserve->node_name)
		return settle(look, neap_reserve_end(look->reserve));
	owners = find_owners(look, &count);
	changed = owners ? neap_reserve_status_owned(tree, look->reserve, owners, count,
						     look->reservations->resources,
						     look->now, &status, &err)
			 : -NEAP_ENOMEM;
	free(owners);
	if (changed < 0)
		return -1;
	if (changed == 0)
		return settle(look, neap_reserve_end(look->reserve));
	return write_status(
		look, look->reserve->is_once ? RESERVATION_SUCCEEDED : RESERVATION_OWNED,
		tree, status);
}

static int64_t look_at_it(struct look *look)
{
	struct neap_error err;
	json_t *tree = NULL;
	int64_t again = -1;

	/* It is read twice. */
	neap_feed_spend(look->reservations->feed, 2 * neap_steps_of_text(look->object));
	if (neap_reserve_new(look->object, look->reservations->resources, &look->reserve,
			     &err) < 0)
		return -1;
	(void)neap_strcopy(look->target->node, sizeof(look->target->node),
			   look->reserve->node_name);
	look->node_exists = !*look->reserve->node_name ||
			    node_exists(look->reservations, look->reserve->node_name);
	if (is_over(look->reserve)) {
		again = collect(look);
	} else {
		reservation_tell_trouble(look->reservations, look->target,
					 look->reserve->trouble);
		tree = neap_object_tree(look->object);
		if (tree &&
		    neap_reserve_has_expired(look->reserve, look->node_exists, look->now))
			again = expire(look, tree);
		else if (tree)
			again = sync_owners(look, tree);
	}
	json_decref(tree);
	(void)neap_reserve_unref(look->reserve);
	return again;
}

/* The status is up to date, and time has not changed it. */
static bool is_settled(const struct look *look)
{
	const struct reservation_target *target = look->target;

	return target->version == look->object->version &&
	       look->now <= target->until_usec &&
	       (!*target->node || node_exists(look->reservations, target->node));
}

static int64_t look_at(void *arg, const char *ns, const char *name)
{
	struct neap_reservations *reservations = arg;
	struct look look = {.reservations = reservations,
			    .now = reservations->config.now()};
	int64_t again = 0;

	if (*ns)
		return reservation_look_at_pod(reservations, ns, name);
	look.object =
		neap_client_find(reservations->config.client, RESERVATIONS, "", name);
	if (!look.object)
		return 0;
	look.target = reservation_target_find(&reservations->index, look.object->uid);
	if (!look.target)
		return -1; /* its event will come */
	if (is_settled(&look))
		return neap_reserve_next_look(look.target->until_usec, look.now);
	if (!neap_rounds_begin(reservations->rounds, "", name, &again))
		return again;
	look.object = neap_object_ref(look.object);
	again = look_at_it(&look);
	(void)neap_object_unref(look.object);
	return neap_rounds_end(reservations->rounds, again);
}

/* --- its life --- */

int neap_reservations_new(const struct neap_workload_config *config, int64_t keep_usec,
			  struct neap_reservations **ret, struct neap_error *err)
{
	struct neap_reservations *reservations = neap_alloc(sizeof(*reservations));
	struct neap_feed_config feed = {.tasks = config->tasks,
					.client = config->client,
					.arg = reservations,
					.resources = {RESERVATIONS, "pods", "nodes"},
					.heard = heard,
					.anew = anew,
					.look = look_at};
	struct neap_rounds_config rounds = {.client = config->client,
					    .resource = RESERVATIONS,
					    .arg = reservations,
					    .told = reservation_told};
	int r;

	*ret = NULL;
	if (!reservations)
		return neap_error_nomem(err);
	reservations->config = *config;
	if (!reservations->config.now)
		reservations->config.now = neap_clock_unix;
	reservations->keep_usec = keep_usec;
	reservations->resources = neap_resources_new();
	r = reservation_index_init(&reservations->index) && reservations->resources
		    ? neap_feed_new(&feed, &reservations->feed, err)
		    : neap_error_nomem(err);
	rounds.feed = reservations->feed;
	if (r == 0)
		r = neap_rounds_new(&rounds, &reservations->rounds, err);
	if (r < 0) {
		neap_reservations_free(reservations);
		return r;
	}
	*ret = reservations;
	return 0;
}

void neap_reservations_free(struct neap_reservations *reservations)
{
	if (!reservations)
		return;
	neap_rounds_free(reservations->rounds);
	neap_feed_free(reservations->feed);
	reservation_index_done(&reservations->index);
	neap_resources_free(reservations->resources);
	free(reservations);
}
