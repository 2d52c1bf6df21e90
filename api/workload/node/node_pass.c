/* SPDX-License-Identifier: Apache-2.0
 *
 * All nodes, or all pods, in pieces: of 50,000 most are only checked, and some are parsed
 * and written. A list must not be written to, so these are gathered first. */
#include "api/workload/node/node_watch_priv.h"
#include "engine/base/mem.h"

/* How many of a piece are looked at, and the steps of a check. */
#define CONCERNED   64
#define CHECK_STEPS 20

struct piece {
	struct neap_node_watch *watch;
	const struct node_pass *pass;
	int64_t now;
	bool has_begun;
	size_t count;
	struct {
		struct neap_object *object;
		int why;
	} concerned[CONCERNED];
};

static bool take(void *arg, struct neap_object *object)
{
	struct piece *piece = arg;
	int why = 0;

	if (piece->count == CONCERNED ||
	    (piece->has_begun && !neap_steps_has(&piece->watch->steps)))
		return false;
	piece->has_begun = true;
	neap_steps_spend(&piece->watch->steps, CHECK_STEPS);
	if (piece->pass->is_concerned(piece->watch, object, piece->now, &why)) {
		piece->concerned[piece->count].object = neap_object_ref(object);
		piece->concerned[piece->count++].why = why;
	}
	return true;
}

/* The next piece begins behind the last one that was looked at. */
static void come_back(struct neap_client_place *place, const struct neap_object *last)
{
	(void)neap_strcopy(place->ns, sizeof(place->ns), last->ns);
	(void)neap_strcopy(place->name, sizeof(place->name), last->name);
}

static int look_at_all(struct piece *piece, int more)
{
	struct neap_node_watch *watch = piece->watch;
	size_t done = 0;

	while (done < piece->count && (done == 0 || neap_steps_has(&watch->steps))) {
		piece->pass->look(watch, piece->concerned[done].object,
				  piece->concerned[done].why, piece->now);
		done++;
	}
	if (done < piece->count) {
		come_back(&watch->place, piece->concerned[done - 1].object);
		more = 1;
	}
	for (size_t i = 0; i < piece->count; i++)
		(void)neap_object_unref(piece->concerned[i].object);
	return more;
}

int node_pass_go(struct neap_node_watch *watch, const struct node_pass *pass, int64_t now)
{
	struct neap_client *client = watch->config.client;
	struct piece piece = {.watch = watch, .pass = pass, .now = now};
	struct neap_error err;
	int more = neap_client_list(client, pass->resource, NULL, &watch->place, take,
				    &piece, &err);

	if (more == -NEAP_EGONE) {
		/* The version of the list is forgotten: continue with the present one. */
		watch->place.version = neap_client_version(client);
		more = neap_client_list(client, pass->resource, NULL, &watch->place, take,
					&piece, &err);
	}
	return look_at_all(&piece, more);
}
