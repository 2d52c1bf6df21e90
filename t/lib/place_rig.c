/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/place_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

static void failed(void *arg, const char *kind, const char *name, const char *why)
{
	struct place_rig *rig = arg;

	(void)kind;
	(void)name;
	assert_true(*why);
	rig->failed++;
}

struct place_rig *place_new(void)
{
	/* A descriptor that takes nothing: what is logged is of no interest here. */
	static const struct neap_log log = {.fd = -1, .program = "test"};
	struct place_rig *rig = neap_alloc(sizeof(*rig));
	struct neap_schedule_policies_config policies = {.failed = failed, .arg = rig};
	struct neap_decide_config config = {.percentage = 100};
	struct neap_error err;

	assert_non_null(rig);
	rig->cluster = cluster_new();
	rig->registry = neap_registry_new();
	policies.registry = rig->registry;
	policies.log = &log;
	policies.purse = &rig->purse;
	policies.decisions = rig->decisions = neap_decisions_new(0, 0);
	assert_non_null(rig->decisions);
	neap_purse_fill(&rig->purse);
	rig->policies = neap_schedule_policies_new(&policies);
	assert_non_null(rig->policies);
	config.cluster = rig->cluster;
	config.more = neap_schedule_policies_more(rig->policies);
	assert_int_equal(neap_decide_new(&config, &rig->decide, &err), 0);
	return rig;
}

void place_free(struct place_rig *rig)
{
	neap_decide_free(rig->decide);
	neap_schedule_policies_free(rig->policies);
	neap_decisions_free(rig->decisions);
	neap_registry_free(rig->registry);
	neap_cluster_free(rig->cluster);
	free(rig);
}

void place_put(struct place_rig *rig, const char *kind, const char *name, int order,
	       const char *body)
{
	char text[4096];
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = '%s', name = '%s', %s }", kind, name,
		       body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	assert_int_equal(neap_registry_put_take(rig->registry, policy, order, 0, &err),
			 0);
}

struct neap_registry_slot *place_slot(struct place_rig *rig, const char *kind,
				      const char *name)
{
	return neap_registry_find(rig->registry, kind, name);
}

void place_add_nodes(struct place_rig *rig, int count)
{
	for (int i = 0; i < count; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), i < 26 ? "%c" : "n%d",
			       i < 26 ? 'a' + i : i);
		(void)cluster_set_node(rig->cluster, name,
				       i % 2 ? "'labels':{'odd':'yes'}" : "'labels':{}",
				       "{}", "'cpu':'10','pods':'110'");
	}
}

const char *place_decide(struct place_rig *rig, const char *labels)
{
	static char text[8192];
	struct neap_choice choice;
	struct neap_buf message = {0};
	struct neap_error err = {0};
	char meta[512];
	struct neap_pod *pod;
	int rc;

	(void)snprintf(meta, sizeof(meta), "'labels':{%s}", labels);
	pod = cluster_pod(
		neap_cluster_resources(rig->cluster), "pod", meta,
		"{'priority':7,'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
		"{}");
	neap_purse_fill(&rig->purse);
	rc = neap_decide_pod(rig->decide, pod, &choice, &err);
	neap_buf_init(&message, sizeof(text) - 1);
	if (rc == 0)
		neap_decide_explain(rig->decide, &message);
	(void)snprintf(text, sizeof(text), "%s",
		       rc > 0    ? choice.node
		       : rc == 0 ? message.data
				 : err.msg);
	neap_buf_done(&message);
	(void)neap_pod_unref(pod);
	return text;
}
