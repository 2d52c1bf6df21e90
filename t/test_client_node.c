/* SPDX-License-Identifier: Apache-2.0
 *
 * What writes the objects of a node, over a client with which everything goes wrong that
 * may: the Node, its Lease and its reports; and the status of pods that run here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/agent/pod/agent.h"
#include "t/lib/agent_rig.h"
#include "t/lib/client_rough.h"
#include "t/lib/keep_rig.h"

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
#define SEEDS 4

static struct neap_client *make_rough(struct kube_rig *rig, uint64_t seed)
{
	const struct client_rough_config config = {.base = rig->base,
						   .under = rig->client,
						   .seed = seed,
						   .delay_ms = 8,
						   .refused = 150,
						   .lost = 100,
						   .conflicts = 150,
						   .gone = 30};

	return client_rough_new(&config);
}

static void test_node(void **state)
{
	struct keep_rig *rig = *state;
	struct neap_client *plain = rig->config.client;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct neap_client *rough = make_rough(rig->rig, seed);

		rig->config.client = rough;
		keep_start(rig);
		kube_run(rig->rig, 100);
		/* What somebody deletes is made again. */
		(void)kube_ask(rig->rig, "DELETE " KEEP_NODE, NULL);
		(void)kube_ask(rig->rig, "DELETE " LEASE, NULL);
		kube_run(rig->rig, 100);
		kube_now += 60 * KEEP_SECOND;
		kube_run(rig->rig, 100);
		client_rough_calm(rough);
		keep_until(rig, "GET " KEEP_NODE, "#status.conditions=4",
			   "status.conditions.3.reason=KubeletReady", NULL);
		keep_until(rig, "GET " LEASE, "spec.holderIdentity=n1", NULL, NULL);
		keep_stop(rig);
		assert_true(client_rough_counts(rough).writes > 2);
		client_rough_free(rough);
		rig->config.client = plain;
	}
}

static void test_pods(void **state)
{
	static const char *const over[] = {"status.phase=Succeeded", NULL};
	static const char *const runs[] = {"status.phase=Running", NULL};
	struct agent_rig *rig = agent_rig_of(state);
	struct neap_client *plain = rig->config.client;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct neap_client *rough = make_rough(rig->kube, seed);

		neap_agent_free(rig->agent);
		rig->config.client = rough;
		agent_rig_start(rig);
		agent_create(rig, "short",
			     "'nodeName':'n1','restartPolicy':'Never','containers':[{"
			     "'name':'c','image':'-','command':['true']}]");
		agent_create(rig, "long",
			     "'nodeName':'n1','terminationGracePeriodSeconds':1,"
			     "'containers':[{'name':'c','image':'-','command':['sleep',"
			     "'1000']}]");
		kube_run(rig->kube, 100);
		client_rough_calm(rough);
		agent_until(rig, "short", 200, over);
		agent_until(rig, "long", 200, runs);
		for (int i = 0; i < 2; i++) {
			const char *name = i ? "long" : "short";
			char ask[128];

			(void)snprintf(ask, sizeof(ask),
				       "DELETE /api/v1/namespaces/default/pods/%s", name);
			assert_int_equal(kube_ask(rig->kube, ask, NULL), 200);
			agent_until_gone(rig, name);
		}
		neap_agent_free(rig->agent);
		rig->config.client = plain;
		client_rough_free(rough);
		agent_rig_start(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pods, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_node, keep_setup, keep_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
