/* SPDX-License-Identifier: Apache-2.0
 *
 * What objects say of CPUs, told to the node while memory fails: it may come late, and
 * comes. */
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/pod/pins.h"
#include "api/client/client.h"
#include "api/run/node_priv.h"
#include "t/lib/keep_rig.h"
#include "t/torture/torture.h"

#define REPORTS "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define AWAY    "{\\'cpuset\\':\\'4000\\'}"
#define EVENTS  "/api/v1/namespaces/default/events"

static struct keep_rig *rig;
static struct neap_pins *pins;

static void must(const char *what, const char *body)
{
	int status = kube_ask(rig->rig, what, body);

	if (status != 200 && status != 201)
		torture_fail("%s: %d", what, status);
}

static int add_pod(const char *name, const char *status)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s','annotations':{"
		       "'scheduling.koordinator.sh/resource-status':'%s'}},'spec':{"
		       "'nodeName':'n1','containers':[{'name':'c','image':'i'}]}}",
		       name, status);
	return kube_ask(rig->rig, "POST " KEEP_PODS, body);
}

/* Asked for and not waited for: it is written, and heard, in later turns of the loop. */
static void ask_for_pod(void)
{
	const struct neap_client_ask ask = {.resource = "pods", .ns = "default"};

	neap_client_create_take(rig->rig->client, &ask,
				json_pack("{s:{s:s,s:{s:s}},s:{s:s,s:[{s:s,s:s}]}}",
					  "metadata", "name", "away", "annotations",
					  "scheduling.koordinator.sh/resource-status",
					  "{\"cpuset\":\"4000\"}", "spec", "nodeName",
					  "n1", "containers", "name", "c", "image", "i"));
}

static void add_objects(void)
{
	if (add_pod("away", AWAY) != 201 || add_pod("broken", "{\\'cpuset\\':") != 201)
		torture_fail("no pods: %s", kube_text(rig->rig->body, "message"));
	must("POST " REPORTS,
	     "{'apiVersion':'topology.node.k8s.io/v1alpha1','kind':"
	     "'NodeResourceTopology','metadata':{'name':'n1','annotations':{"
	     "'kubelet.koordinator.sh/cpu-manager-policy':'{\\'policy\\':\\'static\\'}',"
	     "'node.koordinator.sh/pod-cpu-allocs':'[{\\'cpuset\\':\\'0\\',"
	     "\\'managedByKubelet\\':true}]'}},'topologyPolicies':['None'],'zones':[]}");
}

static int begin(struct neap_error *err)
{
	const struct neap_pins_config config = {.base = rig->rig->base,
						.client = rig->rig->client,
						.node = rig->node,
						.node_name = "n1",
						.log = &rig->log};

	return neap_pins_new(&config, &pins, err);
}

static void *setup(void)
{
	void *state = NULL;

	(void)keep_setup(&state);
	rig = state;
	pins = NULL;
	keep_start_node(rig);
	return rig;
}

static void *setup_told(void)
{
	(void)setup();
	add_objects();
	return rig;
}

static void *setup_heard(void)
{
	struct neap_error err;

	(void)setup();
	if (begin(&err) < 0)
		torture_fail("%s", err.msg);
	ask_for_pod();
	return rig;
}

static void run(void)
{
	for (int i = 0; i < 10; i++) {
		(void)event_base_loop(rig->rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		(void)poll(NULL, 0, i > 5 ? 1 : 0);
	}
}

static int tell(void *state, struct neap_error *err)
{
	int rc = begin(err);

	(void)state;
	if (rc == 0)
		run();
	return rc;
}

static int hear(void *state, struct neap_error *err)
{
	(void)state;
	(void)err;
	run();
	return 0;
}

static bool is_told(void)
{
	static const char reason[] = "CPUsNotOnline";
	const json_t *items, *item;
	size_t i;

	neap_node_pins_look(&rig->node->given, rig->node->observe.topology);
	kube_run(rig->rig, 10);
	if (kube_ask(rig->rig, "GET " EVENTS, NULL) != 200)
		return false;
	items = kube_at(rig->rig->body, "items");
	json_array_foreach (items, i, item)
		if (strcmp(json_string_value(json_object_get(item, "reason")), reason) ==
		    0)
			return true;
	return false;
}

/* The node knows the CPUs of the pod: it tells that they are not online. */
static void check(void *state, int rc)
{
	(void)state;
	if (rc < 0)
		return; /* neapd does not start */
	/* Its own writing may be what failed; or it is on its way, which is a
	 * conflict. */
	(void)add_pod("away", AWAY);
	for (int i = 0; i < 1000; i++)
		if (is_told())
			return;
	torture_fail("the node was not told of the pod");
}

static void teardown(void *state)
{
	neap_pins_end(pins);
	(void)keep_teardown(&state);
}

const struct torture torture_agent[] = {
	{.name = "agent: pins",
	 .setup = setup_told,
	 .act = tell,
	 .check = check,
	 .teardown = teardown,
	 .is_lossy = true},
	{.name = "agent: pins that are heard",
	 .setup = setup_heard,
	 .act = hear,
	 .check = check,
	 .teardown = teardown,
	 .is_lossy = true},
	{0},
};
