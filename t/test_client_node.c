/* SPDX-License-Identifier: Apache-2.0
 *
 * What writes the objects of a node, over a client with which everything goes wrong that
 * may: the Node, its Lease and its reports; and the status of pods that run here. The
 * server gives the same CPU to two pods: the node does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/agent/pod/agent.h"
#include "api/agent/pod/pins.h"
#include "api/kube/request/call.h"
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

/* --- a CPU that the server gave to two pods --- */

#define EVENTS "GET /api/v1/events?fieldSelector=reason=CPUsInUse,involvedObject.name="

static struct neap_pins *start_pins(struct kube_rig *kube, struct neap_node *node,
				    struct neap_client *client,
				    const struct neap_log *log)
{
	const struct neap_pins_config config = {.base = kube->base,
						.client = client,
						.node = node,
						.node_name = "n1",
						.log = log};
	struct neap_pins *pins = NULL;

	assert_int_equal(neap_pins_new(&config, &pins, NULL), 0);
	return pins;
}

static void create_with_cpu(struct kube_rig *kube, const char *name)
{
	char body[1024];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s','annotations':{"
		       "'scheduling.koordinator.sh/resource-status':"
		       "'{\\\"cpuset\\\":\\\"0\\\"}'}},'spec':{'nodeName':'n1',"
		       "'terminationGracePeriodSeconds':1,'containers':[{'name':'c',"
		       "'image':'-','command':['sleep','1000']}]}}",
		       name);
	if (kube_ask(kube, "POST " PODS, body) != 201)
		fail_msg("%s: %s", name, kube_text(kube->body, "message"));
}

static void test_cpu_of_two_pods(void **state)
{
	static const char *const waits[] = {
		"status.phase=Pending",
		"status.containerStatuses.0.state.waiting.reason=CPUsInUse",
		"status.containerStatuses.0.state.waiting.message="
		"CPU 0 belongs to pod default/first",
		NULL};
	static const char *const runs[] = {"status.phase=Running", NULL};
	struct agent_rig *rig = agent_rig_of(state);
	struct neap_client *plain = rig->config.client;
	struct neap_client *rough = make_rough(rig->kube, 1);
	struct neap_pins *pins;

	rig->kube->kube->cpu_refs_max = 1000; /* it refuses nothing */
	neap_agent_free(rig->agent);
	rig->config.client = rough;
	pins = start_pins(rig->kube, rig->config.node, rough, &rig->log);
	agent_rig_start(rig);
	for (int round = 0; round < SEEDS; round++) {
		create_with_cpu(rig->kube, "first");
		agent_until(rig, "first", 200, runs);
		create_with_cpu(rig->kube, "second");
		agent_until(rig, "second", 200, waits);
		kube_until(rig->kube,
			   &(struct kube_step){
				   EVENTS "second",
				   NULL,
				   200,
				   {"items.0.message=CPU 0 belongs to pod default/first; "
				    "until that is gone this pod does not get the CPUs "
				    "in scheduling.koordinator.sh/resource-status"}});
		assert_int_equal(kube_ask(rig->kube, "DELETE " PODS "/first", NULL), 200);
		agent_until_gone(rig, "first");
		agent_until(rig, "second", 200, runs);
		assert_int_equal(kube_ask(rig->kube, "DELETE " PODS "/second", NULL),
				 200);
		agent_until_gone(rig, "second");
	}
	client_rough_calm(rough);
	neap_agent_free(rig->agent);
	neap_pins_end(pins);
	rig->config.client = plain;
	client_rough_free(rough);
	agent_rig_start(rig);
}

/* Whom it belongs to, says who wants it, too. */
static bool belongs_to(struct neap_node *node, const char *name)
{
	const struct neap_node_pin_of other = {"x", "x", "x"};
	struct neap_cpu_said said = {0};
	struct neap_error err = {0};
	bool is_so;

	(void)neap_cpuset_add(&said.cpus, 0);
	is_so = neap_node_pin(node, &other, &said, &err) == -NEAP_ECONFLICT &&
		strcmp(err.msg, name) == 0;
	neap_node_unpin(node, "x");
	return is_so;
}

/* A daemon that starts finds both: the CPU belongs to the one that was started first. */
static void test_cpu_of_two_found(void **state)
{
	struct keep_rig *rig = *state;
	struct kube_rig *kube = rig->rig;
	struct neap_client *rough = make_rough(kube, 1);
	struct neap_pins *pins;

	kube->kube->cpu_refs_max = 1000; /* it refuses nothing */
	create_with_cpu(kube, "a");
	create_with_cpu(kube, "z");
	assert_int_equal(kube_ask(kube, "MERGE " PODS "/z/status",
				  "{'status':{'startTime':'2026-09-21T13:33:20Z'}}"),
			 200);
	keep_start_node(rig);
	pins = start_pins(kube, rig->node, rough, &rig->log);
	assert_true(belongs_to(rig->node, "CPU 0 belongs to pod default/z"));
	kube_until(kube, &(struct kube_step){EVENTS "a", NULL, 200, {"#items=1"}});
	kube_until(kube, &(struct kube_step){EVENTS "z", NULL, 200, {"#items=0"}});
	assert_int_equal(kube_ask(kube, "DELETE " PODS "/z?gracePeriodSeconds=0", NULL),
			 200);
	for (int i = 0; i < 1000; i++) {
		if (belongs_to(rig->node, "CPU 0 belongs to pod default/a"))
			break;
		kube_run(kube, 5);
	}
	assert_true(belongs_to(rig->node, "CPU 0 belongs to pod default/a"));
	neap_pins_end(pins);
	client_rough_free(rough);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pods, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_cpu_of_two_pods, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_node, keep_setup, keep_teardown),
		cmocka_unit_test_setup_teardown(test_cpu_of_two_found, keep_setup,
						keep_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
