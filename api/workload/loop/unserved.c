/* SPDX-License-Identifier: Apache-2.0
 *
 * StatefulSets and DaemonSets are only stored here; controllers of Kubernetes, if someone
 * runs them, create their pods. An object that no controller has observed after a while
 * gets an event, repeatedly. */
#include <stdlib.h>

#include "api/client/events.h"
#include "api/workload/loop/feed.h"
#include "api/workload/loop/tree.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* A running controller would have observed it long before. */
#define GRACE_USEC (30 * 1000000LL)
#define AGAIN_USEC (600 * 1000000LL)

static const struct {
	const char *resource, *kind;
} kinds[] = {{"statefulsets.apps", "StatefulSet"}, {"daemonsets.apps", "DaemonSet"}};

#define KINDS NEAP_ARRAY_LEN(kinds)

struct watched {
	struct neap_unserved *all;
	const char *resource, *kind;
	struct neap_feed *feed;
};

struct neap_unserved {
	struct neap_workload_config config;
	struct watched watched[KINDS];
};

static int64_t judge(const struct watched *watched, const struct neap_object *object,
		     const json_t *tree)
{
	const struct neap_workload_config *config = &watched->all->config;
	int64_t now = config->now ? config->now() : neap_clock_usec(CLOCK_REALTIME);
	int64_t made = neap_tree_time(tree, "metadata.creationTimestamp");
	struct neap_client_note note = {.api_version = "apps/v1",
					.kind = watched->kind,
					.ns = object->ns,
					.name = object->name,
					.uid = object->uid,
					.is_warning = true,
					.reason = "NoController",
					.component = "neapd"};

	if (object->is_deleting ||
	    neap_tree_int(tree, "status.observedGeneration", 0) > 0)
		return 0;
	if (made != NEAP_MISSING && now >= made && now - made < GRACE_USEC)
		return made + GRACE_USEC - now;
	neap_client_note(config->client, &note,
			 "nothing makes pods of a %s here: neapd keeps it for a "
			 "kube-controller-manager, and none has seen it",
			 watched->kind);
	return AGAIN_USEC;
}

static int64_t look(void *arg, const char *ns, const char *name)
{
	const struct watched *watched = arg;
	struct neap_object *object = neap_client_find(watched->all->config.client,
						      watched->resource, ns, name);
	neap_auto_json json_t *tree = object ? neap_object_tree(object) : NULL;
	int64_t ret = object ? -1 : 0;

	if (tree)
		ret = judge(watched, object, tree);
	return ret;
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	const struct watched *watched = arg;

	(void)resource;
	neap_feed_due(watched->feed, event->object->ns, event->object->name, 0);
}

int neap_unserved_new(const struct neap_workload_config *config,
		      struct neap_unserved **ret, struct neap_error *err)
{
	struct neap_unserved *unserved = neap_alloc(sizeof(*unserved));
	int failed = 0;

	*ret = NULL;
	if (!unserved)
		return neap_error_nomem(err);
	unserved->config = *config;
	for (size_t i = 0; i < KINDS && failed == 0; i++) {
		struct watched *watched = &unserved->watched[i];
		struct neap_feed_config feed = {.tasks = config->tasks,
						.client = config->client,
						.arg = watched,
						.resources = {kinds[i].resource},
						.heard = heard,
						.look = look};

		*watched = (struct watched){.all = unserved,
					    .resource = kinds[i].resource,
					    .kind = kinds[i].kind};
		failed = neap_feed_new(&feed, &watched->feed, err);
	}
	if (failed < 0) {
		neap_unserved_free(unserved);
		return failed;
	}
	*ret = unserved;
	return 0;
}

void neap_unserved_free(struct neap_unserved *unserved)
{
	if (!unserved)
		return;
	for (size_t i = 0; i < KINDS; i++)
		neap_feed_free(unserved->watched[i].feed);
	free(unserved);
}
