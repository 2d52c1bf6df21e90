/* SPDX-License-Identifier: Apache-2.0
 *
 * A kubelet may refuse a pod again and again. So the time between a failed pod on a node
 * and its successor doubles, from a second to a quarter of an hour. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/daemonset/daemonsets_priv.h"
#include "engine/base/mem.h"

#define FIRST_USEC 1000000LL
#define MOST_USEC  (15 * 60 * 1000000LL)
/* Forgotten after so long without a failure. */
#define KEPT_USEC (2 * MOST_USEC)
/* Additions between searches for what can be forgotten. */
#define TIDY_EVERY 64

struct backoff {
	int64_t at, pause;
};

/* A new spec begins with no pause. */
static const char *key_of(const struct daemon *look, const char *node, char *buf,
			  size_t size)
{
	(void)snprintf(
		buf, size, "%s/%lld/%s", look->base.owner->uid,
		(long long)neap_tree_int(look->tree, "status.observedGeneration", 0),
		node);
	return buf;
}

static void forget(struct neap_map *backoffs, int64_t before)
{
	const char *key;

	for (size_t i = neap_map_count(backoffs); i--;) {
		struct backoff *backoff = neap_map_at(backoffs, i, &key);

		if (backoff->at > before)
			continue;
		(void)neap_map_remove(backoffs, key);
		free(backoff);
	}
}

void daemon_backoffs_free(struct neap_map *backoffs)
{
	if (!backoffs)
		return;
	forget(backoffs, INT64_MAX);
	neap_map_free(backoffs);
}

int64_t daemon_backoff_left(const struct daemon *look, const char *node)
{
	char key[NEAP_OBJECT_UID + NEAP_OBJECT_NAME + 24];
	const struct backoff *backoff =
		neap_map_find(look->sets->backoffs, key_of(look, node, key, sizeof(key)));
	int64_t since = backoff ? look->now - backoff->at : 0;

	return !backoff || since < 0 || since >= backoff->pause ? 0
								: backoff->pause - since;
}

void daemon_backoff_next(struct daemon *look, const char *node)
{
	char key[NEAP_OBJECT_UID + NEAP_OBJECT_NAME + 24];
	struct neap_map *backoffs = look->sets->backoffs;
	struct backoff *backoff =
		neap_map_find(backoffs, key_of(look, node, key, sizeof(key)));

	if (!backoff) {
		if (neap_map_count(backoffs) % TIDY_EVERY == TIDY_EVERY - 1)
			forget(backoffs, look->now - KEPT_USEC);
		backoff = neap_alloc(sizeof(*backoff));
		if (!backoff || !neap_map_set(backoffs, key, backoff)) {
			free(backoff);
			return; /* then without a pause */
		}
	}
	if (!backoff->pause || look->now - backoff->at > KEPT_USEC)
		backoff->pause = FIRST_USEC;
	else
		backoff->pause =
			backoff->pause < MOST_USEC / 2 ? 2 * backoff->pause : MOST_USEC;
	backoff->at = look->now;
}
