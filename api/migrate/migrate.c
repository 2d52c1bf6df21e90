/* SPDX-License-Identifier: Apache-2.0 */
#include "api/migrate/migrate.h"

#include <stdlib.h>
#include <string.h>

#include "api/migrate/migrate_priv.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/migrate/workload_kinds.h"

#define HELD_USEC INT64_C(500000) /* until may_go is asked again */

/* --- what happens --- */

static void begin_round(struct neap_migrate *migrate)
{
	neap_feed_due(migrate->feed, ARBITRATION_NS, ARBITRATION_NAME,
		      migrate->args.interval_usec);
}

static void due(struct neap_migrate *migrate, const struct migrate_memory *memory)
{
	if (memory)
		neap_feed_due(migrate->feed, "", memory->name, 0);
}

/* False without memory. */
static bool heard_job(struct neap_migrate *migrate, const struct neap_client_event *event,
		      const json_t *tree)
{
	const char *name = event->object->name;
	const struct migrate_memory *memory = neap_map_find(migrate->memory, name);
	struct neap_migrate_job *job;

	if (event->what == NEAP_CLIENT_DELETED) {
		neap_migrate_drop_job(&migrate->cluster, name);
		migrate_memory_drop(migrate, name);
		return true;
	}
	if (neap_migrate_set_job(&migrate->cluster, tree, NULL) < 0)
		return false;
	job = neap_migrate_find_job(&migrate->cluster, name);
	/* Let through, though the job does not say so yet: it counts. */
	if (memory && memory->may_begin)
		neap_migrate_begin_job(&migrate->cluster, job);
	if (migrate->args.arbitrates &&
	    neap_migrate_is_waiting(job, migrate->config.now()))
		begin_round(migrate);
	neap_feed_due(migrate->feed, "", name, 0);
	return true;
}

static bool heard_pod(struct neap_migrate *migrate, const struct neap_client_event *event,
		      const json_t *tree)
{
	const struct neap_object *pod = event->object;
	char key[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];

	(void)snprintf(key, sizeof(key), "%s/%s", pod->ns, pod->name);
	due(migrate, neap_map_find(migrate->pods, key));
	if (event->what != NEAP_CLIENT_DELETED)
		return neap_migrate_set_pod(&migrate->cluster, tree, NULL) == 0;
	neap_migrate_drop_pod(&migrate->cluster, pod->ns, pod->name);
	return true;
}

static bool heard_workload(struct neap_migrate *migrate, const char *resource,
			   const struct neap_client_event *event, const json_t *tree)
{
	const char *kind = neap_workload_kind_of(resource);

	if (event->what != NEAP_CLIENT_DELETED)
		return neap_migrate_set_workload(&migrate->cluster, kind, tree, NULL) ==
		       0;
	neap_migrate_drop_workload(&migrate->cluster, kind, event->object->ns,
				   event->object->name);
	return true;
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct neap_migrate *migrate = arg;
	json_t *tree = NULL;
	bool is_good = true;

	if (strcmp(resource, RESERVATIONS) == 0) {
		due(migrate, neap_map_find(migrate->reservations, event->object->name));
		return;
	}
	if (strcmp(resource, "nodes") == 0)
		return; /* a job that waits for one looks again by itself */
	if (event->what != NEAP_CLIENT_DELETED) {
		neap_feed_spend(migrate->feed, neap_steps_of_text(event->object));
		tree = neap_object_tree(event->object);
		is_good = tree != NULL;
	}
	if (is_good && strcmp(resource, JOBS) == 0)
		is_good = heard_job(migrate, event, tree);
	else if (is_good && strcmp(resource, "pods") == 0)
		is_good = heard_pod(migrate, event, tree);
	else if (is_good)
		is_good = heard_workload(migrate, resource, event, tree);
	json_decref(tree);
	if (!is_good)
		neap_feed_restart(migrate->feed);
}

static void anew(void *arg)
{
	struct neap_migrate *migrate = arg;

	neap_migrate_cluster_clear(&migrate->cluster);
}

static int64_t look_at(void *arg, const char *ns, const char *name)
{
	struct neap_migrate *migrate = arg;

	if (migrate->config.may_go && !migrate->config.may_go(migrate->config.arg))
		return HELD_USEC;
	return strcmp(ns, ARBITRATION_NS) == 0 ? migrate_round(migrate)
					       : migrate_look(migrate, name);
}

/* --- its life --- */

static int set_args(struct neap_migrate *migrate, const json_t *args,
		    struct neap_error *err)
{
	struct neap_migrate_args before = migrate->args;
	int rc = neap_migrate_args_init(&migrate->args, args, err);

	if (rc < 0) {
		migrate->args = before;
		return rc;
	}
	migrate->args.served = migrate->config.schedulers;
	neap_migrate_args_done(&before);
	neap_migrate_forget(&migrate->cluster);
	if (migrate->feed)
		begin_round(migrate);
	return 0;
}

/* Whether they are the arguments in force. */
static bool are_used(const struct neap_migrate *migrate,
		     const struct neap_migrate_args *args)
{
	if (!args || !migrate->given)
		return !args && !migrate->given;
	return json_equal(args->json, migrate->given) &&
	       args->has_threshold == migrate->args.has_threshold &&
	       args->threshold == migrate->args.threshold;
}

int neap_migrate_use(struct neap_migrate *migrate, const struct neap_migrate_args *args,
		     struct neap_error *err)
{
	json_t *given = NULL;
	int rc;

	if (are_used(migrate, args))
		return 0;
	if (args) {
		given = neap_json_deep_copy(args->json);
		if (!given)
			return neap_error_nomem(err);
	}
	rc = set_args(migrate, given, err);
	if (rc < 0) {
		json_decref(given);
		return rc;
	}
	/* What a PriorityClass of the cluster comes to was looked up by the caller. */
	if (args) {
		migrate->args.has_threshold = args->has_threshold;
		migrate->args.threshold = args->threshold;
	}
	json_decref(migrate->given);
	migrate->given = given;
	return 0;
}

static int make(struct neap_migrate *migrate, const json_t *args, struct neap_error *err)
{
	struct neap_feed_config feed = {
		.tasks = migrate->config.tasks,
		.client = migrate->config.client,
		.arg = migrate,
		.resources = {JOBS, RESERVATIONS, "pods", "nodes"},
		.heard = heard,
		.anew = anew,
		.look = look_at};
	struct neap_rounds_config rounds = {.client = migrate->config.client,
					    .resource = JOBS,
					    .arg = migrate,
					    .told = migrate_told};
	int rc = set_args(migrate, args, err);

	if (rc == 0)
		rc = neap_migrate_cluster_init(&migrate->cluster, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < NEAP_WORKLOAD_KINDS; i++)
		feed.resources[4 + i] = neap_workload_kinds[i].resource;
	migrate->memory = neap_map_new();
	migrate->reservations = neap_map_new();
	migrate->pods = neap_map_new();
	migrate->limiter = neap_limiter_new();
	if (!migrate->memory || !migrate->reservations || !migrate->pods ||
	    !migrate->limiter)
		return neap_error_nomem(err);
	rc = neap_feed_new(&feed, &migrate->feed, err);
	rounds.feed = migrate->feed;
	return rc == 0 ? neap_rounds_new(&rounds, &migrate->rounds, err) : rc;
}

int neap_migrate_new(const struct neap_migrate_config *config, const json_t *args,
		     struct neap_migrate **ret, struct neap_error *err)
{
	struct neap_migrate *migrate = neap_alloc(sizeof(*migrate));
	int rc;

	*ret = NULL;
	if (!migrate)
		return neap_error_nomem(err);
	migrate->config = *config;
	if (!migrate->config.now)
		migrate->config.now = neap_clock_unix;
	migrate_uuid(migrate->creator);
	rc = make(migrate, args, err);
	if (rc < 0) {
		neap_migrate_free(migrate);
		return rc;
	}
	*ret = migrate;
	return 0;
}

void neap_migrate_free(struct neap_migrate *migrate)
{
	if (!migrate)
		return;
	neap_rounds_free(migrate->rounds);
	neap_feed_free(migrate->feed);
	if (migrate->memory && migrate->reservations && migrate->pods)
		migrate_memory_clear(migrate);
	neap_map_free(migrate->memory);
	neap_map_free(migrate->reservations);
	neap_map_free(migrate->pods);
	neap_limiter_free(migrate->limiter);
	free(migrate->queue.names);
	free(migrate->queue.is_placed);
	if (migrate->cluster.pods)
		neap_migrate_cluster_done(&migrate->cluster);
	neap_migrate_args_done(&migrate->args);
	json_decref(migrate->given);
	free(migrate);
}
