/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions with policies while memory fails: one that has none has no say, and is not
 * taken for a faulty one. */
#include <stdlib.h>
#include <string.h>

#include "api/schedule/policies.h"
#include "engine/decide/decide.h"
#include "t/lib/cpus_rig.h"
#include "t/lib/place_rig.h"
#include "t/torture/torture.h"

#define NODES 4

struct placing {
	struct place_rig *rig;
	struct neap_pod *pod;
};

static void load(struct place_rig *rig, const char *path)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	if (neap_policy_load_file(path, &policy, &err) < 0 ||
	    neap_registry_put_take(rig->registry, policy, 0, 0, &err) < 0)
		torture_fail("%s", err.msg);
}

static void *setup(void)
{
	static const struct cpus_machine machine = {.nodes = 2, .cores = 4, .threads = 2};
	struct placing *state = calloc(1, sizeof(*state));
	struct place_rig *rig = place_new();

	state->rig = rig;
	place_add_nodes(rig, NODES);
	(void)cpus_set_topology(rig->cluster, "a", &machine);
	(void)cpus_set_topology(rig->cluster, "b", &machine);
	load(rig, "policies/score/numa-tight.lua");
	place_put(rig, "filter", "odd", 1,
		  "needs = { 'node.name', 'node.labels.odd?', 'pod.labels.app?' }, "
		  "allow = function(ctx, pod, node) return node.labels.odd == 'yes', "
		  "'it is ' .. node.name end");
	state->pod = cluster_pod(
		neap_cluster_resources(rig->cluster), "pod", "'labels':{'app':'web'}",
		"{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}", "{}");
	return state;
}

static int decide(void *arg, struct neap_error *err)
{
	static const struct neap_log log = {.fd = -1, .program = "torture"};
	struct placing *state = arg;
	struct neap_purse purse;
	struct neap_schedule_policies_config config = {
		.registry = state->rig->registry, .purse = &purse, .log = &log};
	struct neap_schedule_policies *policies = neap_schedule_policies_new(&config);
	struct neap_decide_config deciding = {.cluster = state->rig->cluster,
					      .percentage = 100};
	struct neap_decide *decide = NULL;
	struct neap_choice choice;
	int rc;

	if (!policies)
		return neap_error_nomem(err);
	neap_purse_fill(&purse);
	deciding.more = neap_schedule_policies_more(policies);
	rc = neap_decide_new(&deciding, &decide, err);
	if (rc == 0)
		rc = neap_decide_pod(decide, state->pod, &choice, err);
	if (rc == 0)
		torture_fail("no node fits");
	if (rc > 0)
		torture_tell("%s", choice.node);
	neap_decide_free(decide);
	neap_schedule_policies_free(policies);
	return rc < 0 ? rc : 0;
}

/* Both have a say again, and are blamed for nothing. */
static void check(void *arg, int rc)
{
	struct placing *state = arg;
	const char *node = place_decide(state->rig, "");

	(void)rc;
	if (strcmp(node, "b") != 0)
		torture_fail("it is placed on %s", node);
	if (place_slot(state->rig, "score", "numa-tight")->stats.faults ||
	    place_slot(state->rig, "filter", "odd")->stats.faults)
		torture_fail("a policy is blamed for a lack of memory");
}

static void teardown(void *arg)
{
	struct placing *state = arg;

	(void)neap_pod_unref(state->pod);
	place_free(state->rig);
	free(state);
}

const struct torture torture_schedule[] = {
	{.name = "schedule: policies",
	 .setup = setup,
	 .act = decide,
	 .check = check,
	 .teardown = teardown,
	 .is_lossy = true},
	{0},
};
