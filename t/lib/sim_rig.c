/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/sim_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* As with evictQPS. */
#define EVICT_PACE (NEAP_SIM_SECOND / 10)

static void need(int rc, const struct neap_error *err, const char *what)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "%s: %s\n", what, err->msg);
	abort();
}

void sim_rig_open(struct sim_rig *rig, const struct neap_sim_args *args,
		  const struct neap_generate_args *load)
{
	struct neap_error err = {0};

	memset(rig, 0, sizeof(*rig));
	neap_json_setup();
	rig->limits = (struct neap_limits){NEAP_LIMITS_NONE, NEAP_LIMITS_NONE,
					   NEAP_LIMITS_NONE, NEAP_LIMITS_NONE, false};
	neap_evictor_init(&rig->evictor);
	need(neap_sim_new(args, &rig->sim, &err), &err, "sim");
	need(neap_generate_new(rig->sim, load, &rig->generate, &err), &err, "generate");
	need(neap_landing_new(rig->sim->cluster, rig->sim->decide, &rig->landing, &err),
	     &err, "landing");
}

void sim_rig_close(struct sim_rig *rig)
{
	neap_landing_free(rig->landing);
	neap_moved_free(rig->moved);
	neap_generate_free(rig->generate);
	neap_evictor_done(&rig->evictor);
	neap_sim_free(rig->sim);
	if (rig->how == NEAP_SIM_BY_JOB)
		neap_migrate_args_done(&rig->migrate);
}

void sim_rig_migrate(struct sim_rig *rig, const char *args)
{
	json_t *json = args ? json_loads(args, 0, NULL) : NULL;
	struct neap_error err = {0};

	need(neap_migrate_args_init(&rig->migrate, json, &err), &err, "migrate");
	json_decref(json);
	rig->sim->migrate_args = &rig->migrate;
	rig->how = NEAP_SIM_BY_JOB;
}

/* The migration controller's filter. */
static const char *ask_migrate(void *arg, struct neap_round *round,
			       const struct neap_world_pod *pod)
{
	struct sim_rig *rig = arg;
	json_t *tree = neap_object_tree(pod->pod->object);
	struct neap_migrate_question ask = {
		.args = &rig->migrate, .cluster = &rig->sim->migrate, .pod = tree};
	enum neap_migrate_check check = neap_migrate_refuses(&ask);

	(void)round;
	json_decref(tree);
	return check == NEAP_CHECK_NONE ? NULL : neap_migrate_check_name(check);
}

struct neap_policy *sim_rig_policy(const char *file, const char *params)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	need(neap_policy_load_file(file, &policy, &err), &err, file);
	if (params && *params) {
		json_t *json = json_loads(params, 0, NULL);

		need(neap_policy_set_params(policy, json, &err), &err, file);
		json_decref(json);
	}
	need(neap_policy_check_params(policy, &err), &err, file);
	return policy;
}

void sim_rig_run(struct sim_rig *rig, int64_t usec)
{
	struct neap_error err = {0};

	need(neap_generate_run(rig->generate, rig->sim->now_usec + usec, &err), &err,
	     "run");
}

/* What was granted, apart from the round, which the evictions change the world of. */
struct granted {
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], node[NEAP_ROUND_NODE];
	char strategy[64], why[NEAP_ROUND_WHY];
};

static struct granted *list_granted(struct sim_rig *rig, const struct neap_round *round,
				    size_t *ret_count)
{
	struct granted *list = calloc(round->evicted_count + 1, sizeof(*list));

	*ret_count = 0;
	rig->asked = round->said_count;
	rig->evicted = round->evicted_count;
	for (size_t i = 0; i < round->said_count; i++) {
		const struct neap_round_said *said = &round->said[i];
		struct granted *one = &list[*ret_count];

		rig->refused[said->answer.outcome]++;
		if (said->answer.outcome != NEAP_ROUND_EVICTED)
			continue;
		(void)neap_strcopy(one->ns, sizeof(one->ns), said->pod->pod->object->ns);
		(void)neap_strcopy(one->name, sizeof(one->name),
				   said->pod->pod->object->name);
		(void)neap_strcopy(one->node, sizeof(one->node), said->answer.node);
		(void)neap_strcopy(one->strategy, sizeof(one->strategy), said->strategy);
		(void)neap_strcopy(one->why, sizeof(one->why), said->why);
		++*ret_count;
	}
	return list;
}

static int note_moved(void *arg, const struct neap_world_pod *pod, const char *strategy,
		      const char *why, const char *node, struct neap_error *err)
{
	struct sim_rig *rig = arg;

	(void)strategy;
	(void)why;
	(void)node;
	return rig->moved ? neap_moved_note(rig->moved, pod, rig->sim->now_usec, err) : 0;
}

static void ask(struct sim_rig *rig, struct neap_round *round, struct neap_policy *policy)
{
	struct neap_error err = {0};
	int64_t start;

	neap_landing_may_return(rig->landing,
				neap_policy_point(policy) == NEAP_POINT_DESCHEDULE);
	start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
	if (neap_policy_run_round(policy, round, neap_policy_plugin(policy), &err) !=
	    NEAP_TICK_WISHES)
		need(-1, &err, neap_policy_plugin(policy));
	rig->cpu_usec += neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
}

void sim_rig_round(struct sim_rig *rig, struct neap_policy *const *policies, size_t count)
{
	struct neap_round_rule rules[2];
	struct neap_round_args args = {
		.world = rig->sim->world,
		.now_usec = rig->sim->now_usec,
		.evictor = &rig->evictor,
		.rules = rules,
		.limits = rig->limits,
		.honors_budgets = true,
		.place = neap_landing_place,
		.place_arg = rig->landing,
		.evict = note_moved,
		.evict_arg = rig,
	};
	struct neap_round *round = NULL;
	struct neap_error err = {0};
	struct granted *list;
	size_t granted;

	if (rig->moved)
		rules[args.rule_count++] = (struct neap_round_rule){
			.before = neap_moved_rule, .arg = rig->moved};
	if (rig->how == NEAP_SIM_BY_JOB)
		rules[args.rule_count++] =
			(struct neap_round_rule){.allow = ask_migrate, .arg = rig};
	need(neap_sim_report(rig->sim, &err), &err, "report");
	need(neap_sim_settle(rig->sim, &err), &err, "settle");
	need(neap_landing_begin(rig->landing, rig->sim->world, rig->sim->now_usec, &err),
	     &err, "landing");
	neap_landing_set_keeps_place(rig->landing, rig->how == NEAP_SIM_BY_JOB);
	need(neap_round_new(&args, &round, &err), &err, "round");
	need(neap_round_set_nodes(round, NULL, true, &err), &err, "nodes");
	neap_landing_set_round(rig->landing, round);
	rig->cpu_usec = 0;
	for (size_t i = 0; i < count; i++)
		ask(rig, round, policies[i]);
	need(neap_landing_tell(rig->landing, round, &err), &err, "tell");
	list = list_granted(rig, round, &granted);
	neap_round_free(round);
	neap_landing_end(rig->landing);
	for (size_t i = 0; i < granted; i++) {
		(void)neap_sim_evict(rig->sim, list[i].ns, list[i].name, list[i].strategy,
				     list[i].why, list[i].node, rig->how);
		sim_rig_run(rig, EVICT_PACE);
	}
	free(list);
}

double sim_rig_spread(struct sim_rig *rig)
{
	struct neap_error err = {0};

	need(neap_sim_settle(rig->sim, &err), &err, "settle");
	return neap_sim_spread(rig->sim, NEAP_RESOURCE_CPU, false);
}
