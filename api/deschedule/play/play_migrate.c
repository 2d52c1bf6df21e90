/* SPDX-License-Identifier: Apache-2.0
 *
 * MigrationController in a round: its filter, and the jobs that the round requests. */
#include <stdio.h>
#include <string.h>

#include "api/deschedule/play/play_priv.h"
#include "api/deschedule/play/strategies.h"
#include "engine/base/mem.h"
#include "engine/deschedule/fit.h"
#include "engine/json/json.h"

bool play_migrates(const struct neap_play_profile *profile)
{
	const struct neap_deschedule_profile *of = profile->of;
	bool is_migration = false;

	for (size_t i = 0; i < of->at_count[NEAP_AT_EVICT]; i++)
		is_migration = strcmp(profile->plugins[of->at[NEAP_AT_EVICT][i]].name,
				      NEAP_PLUGIN_MIGRATION) == 0;
	return is_migration;
}

/* --- the filter --- */

static enum neap_elsewhere fits_elsewhere(void *arg, const struct neap_migrate_args *args,
					  const char *ns, const char *name)
{
	const struct play_rule *rule = arg;
	const struct neap_round *round = rule->run->round;
	const struct neap_world_pod *pod =
		neap_world_find_pod(rule->run->play->world, ns, name);

	for (size_t i = 0; pod && i < round->node_count; i++)
		if (neap_fit_elsewhere(rule->run->play->world, pod, round->nodes[i],
				       args->node_selector))
			return NEAP_ELSEWHERE_FITS;
	return NEAP_ELSEWHERE_NO;
}

static const char *tell_check(struct play_run *run, enum neap_migrate_check check)
{
	char why[128];

	if (check == NEAP_CHECK_NONE)
		return NULL;
	(void)snprintf(why, sizeof(why), NEAP_PLUGIN_MIGRATION ": %s",
		       neap_migrate_check_name(check));
	if (!run->migration_why[check])
		run->migration_why[check] = neap_round_keep_text(run->round, why);
	return run->migration_why[check];
}

const char *play_allow_migration(void *arg, struct neap_round *round,
				 const struct neap_world_pod *pod)
{
	struct play_rule *rule = arg;
	json_t *json = neap_object_tree(pod->pod->object);
	const struct neap_migrate_question ask = {.args = &rule->profile->migrate,
						  .cluster = rule->run->play->migrating,
						  .pod = json,
						  .fits_elsewhere = fits_elsewhere,
						  .arg = rule};
	enum neap_migrate_check check = NEAP_CHECK_NONE;

	(void)round;
	if (!json)
		return "there is no memory to ask";
	if (ask.cluster)
		check = neap_migrate_refuses_ever(&ask);
	json_decref(json);
	return tell_check(rule->run, check);
}

const char *play_allow_migration_again(void *arg, struct neap_round *round,
				       const struct neap_world_pod *pod)
{
	struct play_rule *rule = arg;
	const struct neap_play *play = rule->run->play;
	const struct neap_object *object = pod->pod->object;
	const struct neap_migrate_question ask = {
		.args = &rule->profile->migrate,
		.cluster = play->migrating,
		.facts = play->migrating ? neap_migrate_find_pod(play->migrating,
								 object->ns, object->name)
					 : NULL,
		.limiter = play->limiter,
		.now_usec = play->now_usec};

	(void)round;
	return ask.facts ? tell_check(rule->run, neap_migrate_refuses_now(&ask)) : NULL;
}

/* --- jobs --- */

/* No job of the cluster has such a name. */
static void name_of_job(char name[NEAP_POD_KEY + 8], const struct neap_world_pod *pod)
{
	(void)snprintf(name, NEAP_POD_KEY + 8, "round/%s/%s", pod->pod->object->ns,
		       pod->pod->object->name);
}

int play_add_job(struct play_run *run, const struct neap_world_pod *pod,
		 struct neap_error *err)
{
	const struct neap_object *object = pod->pod->object;
	char name[NEAP_POD_KEY + 8];
	json_t *job;
	int rc;

	if (!run->play->migrating || !play_migrates(run->profile))
		return 0;
	if (run->is_void)
		return neap_error_nomem(err);
	name_of_job(name, pod);
	job = json_pack("{s:{s:s}, s:{s:{s:s, s:s, s:s}}}", "metadata", "name", name,
			"spec", "podRef", "namespace", object->ns, "name", object->name,
			"uid", object->uid);
	rc = job ? neap_migrate_set_job(run->play->migrating, job, err)
		 : neap_error_nomem(err);
	run->is_void = job && rc < 0;
	json_decref(job);
	return rc;
}

void play_drop_job(const struct play_run *run, const struct neap_world_pod *pod)
{
	char name[NEAP_POD_KEY + 8];

	if (!run->play->migrating)
		return;
	name_of_job(name, pod);
	neap_migrate_drop_job(run->play->migrating, name);
}

void play_drop_jobs(const struct play_run *run, size_t from)
{
	for (size_t i = from; i < run->round->said_count; i++)
		if (run->round->said[i].answer.outcome == NEAP_ROUND_EVICTED)
			play_drop_job(run, run->round->said[i].pod);
}
