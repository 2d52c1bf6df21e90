/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes become durable in the order in which they were accepted. So a first change that
 * changes nothing is answered after all writes that were in progress before. */
#include "api/workload/loop/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

/* Between checks while the first change is on its way. */
#define WAIT_USEC 5000
/* After an accepted write was not durable: the disk may be full. */
#define PAUSE_USEC 1000000

/* Outlives the controller while asks are on their way. */
struct neap_rounds {
	struct neap_rounds_config config; /* client NULL: the controller is freed */
	struct neap_map *waiting; /* "NAMESPACE/NAME": how many asks, as a pointer */
	size_t asks;
	enum { UNSURE, ASKING, SURE } start;
	/* Of the current look. */
	bool is_looking;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	size_t asked, refused;
	char why[512];
};

struct ask {
	struct neap_rounds *rounds;
	int what;
	char key[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	char target[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
};

static void unref(struct neap_rounds *rounds)
{
	if (rounds->config.client || rounds->asks)
		return;
	neap_map_free(rounds->waiting);
	free(rounds);
}

static void key_of(const char *ns, const char *name, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s/%s", ns, name);
}

int neap_rounds_new(const struct neap_rounds_config *config, struct neap_rounds **ret,
		    struct neap_error *err)
{
	struct neap_rounds *rounds = neap_alloc(sizeof(*rounds));

	*ret = NULL;
	if (!rounds)
		return neap_error_nomem(err);
	rounds->waiting = neap_map_new();
	if (!rounds->waiting) {
		free(rounds);
		return neap_error_nomem(err);
	}
	rounds->config = *config;
	*ret = rounds;
	return 0;
}

void neap_rounds_free(struct neap_rounds *rounds)
{
	if (!rounds)
		return;
	rounds->config.client = NULL;
	unref(rounds);
}

/* --- the start --- */

static void start_told(void *arg, struct neap_object *object,
		       const struct neap_client_failure *failure)
{
	struct neap_rounds *rounds = arg;

	(void)failure;
	rounds->start = object ? SURE : UNSURE;
	rounds->asks--;
	unref(rounds);
}

/* The change that changes nothing. */
static void begin_start(struct neap_rounds *rounds, const char *ns, const char *name)
{
	struct neap_client_ask ask = {.resource = rounds->config.resource,
				      .ns = ns,
				      .name = name,
				      .told = start_told,
				      .arg = rounds};

	rounds->start = ASKING;
	rounds->asks++;
	neap_client_patch_take(rounds->config.client, &ask, false, json_object());
}

/* --- a look --- */

bool neap_rounds_begin(struct neap_rounds *rounds, const char *ns, const char *name,
		       int64_t *ret_again)
{
	char key[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];

	if (rounds->start == UNSURE)
		begin_start(rounds, ns, name);
	if (rounds->start != SURE) {
		/* Refused at once, for example because the object has become invalid. */
		*ret_again = rounds->start == UNSURE ? PAUSE_USEC : WAIT_USEC;
		return false;
	}
	key_of(ns, name, key, sizeof(key));
	if (neap_map_find(rounds->waiting, key)) {
		*ret_again = 0; /* its answer makes it due */
		return false;
	}
	rounds->is_looking = true;
	rounds->asked = rounds->refused = 0;
	rounds->why[0] = '\0';
	(void)neap_strcopy(rounds->ns, sizeof(rounds->ns), ns);
	(void)neap_strcopy(rounds->name, sizeof(rounds->name), name);
	return true;
}

int64_t neap_rounds_end(struct neap_rounds *rounds, int64_t again)
{
	rounds->is_looking = false;
	if (again >= 0 && rounds->refused)
		return -1;
	return again;
}

int64_t neap_rounds_look_at(struct neap_rounds *rounds, struct neap_owners *owners,
			    const char *ns, const char *name, neap_rounds_look *look)
{
	struct neap_object *object = neap_client_find(rounds->config.client,
						      rounds->config.resource, ns, name);
	int64_t again = 0;
	json_t *tree;

	if (!object) {
		neap_owners_drop(owners, ns, name);
		return 0;
	}
	if (!neap_rounds_begin(rounds, ns, name, &again))
		return again;
	object = neap_object_ref(object);
	tree = neap_object_tree(object);
	again = tree ? look(rounds->config.arg, object, tree) : -1;
	json_decref(tree);
	neap_object_unref(object);
	return neap_rounds_end(rounds, again);
}

size_t neap_rounds_refused(const struct neap_rounds *rounds, const char **ret_why)
{
	if (ret_why)
		*ret_why = rounds->why;
	return rounds->refused;
}

size_t neap_rounds_asked(const struct neap_rounds *rounds)
{
	return rounds->asked;
}

/* --- asks --- */

static bool is_worth_a_word(const struct neap_client_failure *failure)
{
	return failure && failure->reason != NEAP_CLIENT_NOT_FOUND;
}

/* Counts an answer of the key. */
static void count_down(struct neap_rounds *rounds, const struct ask *ask, bool is_fine)
{
	uintptr_t n = (uintptr_t)neap_map_find(rounds->waiting, ask->key);

	if (n > 1)
		(void)neap_map_set(rounds->waiting, ask->key, (void *)(n - 1));
	else
		(void)neap_map_remove(rounds->waiting, ask->key);
	/* Refused within the look, whose end decides when to look again. */
	if (rounds->is_looking && strcmp(rounds->ns, ask->ns) == 0 &&
	    strcmp(rounds->name, ask->name) == 0)
		return;
	if (n <= 1)
		neap_feed_due(rounds->config.feed, ask->ns, ask->name,
			      is_fine ? 0 : PAUSE_USEC);
}

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct ask *ask = arg;
	struct neap_rounds *rounds = ask->rounds;
	struct neap_round_told what = {.what = ask->what,
				       .ns = ask->ns,
				       .key = ask->name,
				       .uid = ask->uid,
				       .name = ask->target,
				       .object = object,
				       .failure = failure};

	rounds->asks--;
	if (rounds->config.client && rounds->is_looking) {
		rounds->asked -= rounds->asked > 0;
		if (is_worth_a_word(failure)) {
			rounds->refused++;
			(void)neap_strcopy(rounds->why, sizeof(rounds->why),
					   failure->message);
		}
	}
	if (rounds->config.client && rounds->config.told)
		rounds->config.told(rounds->config.arg, &what);
	if (rounds->config.client)
		count_down(rounds, ask, !is_worth_a_word(failure));
	unref(rounds);
	free(ask);
}

bool neap_rounds_ask(struct neap_rounds *rounds, const struct neap_round_ask *what,
		     struct neap_client_ask *ret)
{
	struct ask *ask = neap_alloc(sizeof(*ask));
	uintptr_t n;

	if (!ask) {
		rounds->refused++;
		return false;
	}
	key_of(rounds->ns, rounds->name, ask->key, sizeof(ask->key));
	n = (uintptr_t)neap_map_find(rounds->waiting, ask->key);
	if (!neap_map_set(rounds->waiting, ask->key, (void *)(n + 1))) {
		free(ask);
		rounds->refused++;
		return false;
	}
	ask->rounds = rounds;
	ask->what = what->what;
	(void)neap_strcopy(ask->ns, sizeof(ask->ns), rounds->ns);
	(void)neap_strcopy(ask->name, sizeof(ask->name), rounds->name);
	(void)neap_strcopy(ask->target, sizeof(ask->target),
			   what->name ? what->name : "");
	(void)neap_strcopy(ask->uid, sizeof(ask->uid), what->uid);
	rounds->asks++;
	rounds->asked++;
	*ret = (struct neap_client_ask){.resource = what->resource,
					.ns = what->ns,
					.name = what->name,
					.told = told,
					.arg = ask};
	return true;
}
