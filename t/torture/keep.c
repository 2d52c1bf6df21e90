/* SPDX-License-Identifier: Apache-2.0
 *
 * What keeps objects by itself while memory fails: budgets, the age of events, what there
 * is from the start. It may be late; with memory again it does what it is there for. */
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/loops/budget_loop.h"
#include "api/kube/loops/event_ttl.h"
#include "api/kube/serve/embedded.h"
#include "t/lib/kube_rig.h"
#include "t/torture/torture.h"

#define PODS   "/api/v1/namespaces/default/pods"
#define PDB    "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define EVENTS "/api/v1/namespaces/default/events"
#define SETS   "/apis/apps/v1/namespaces/default/replicasets"

struct kept {
	struct kube_rig *rig;
	struct neap_kube_budgets *budgets;
	struct neap_kube_expire *expire;
};

static struct kept kept;

static void must(const char *what, const char *body)
{
	int status = kube_ask(kept.rig, what, body);

	if (status != 200 && status != 201)
		torture_fail("%s: %d", what, status);
}

static void *setup(void)
{
	char body[512];

	memset(&kept, 0, sizeof(kept));
	kept.rig = kube_rig_start("127.0.0.1:0", NULL);
	must("POST /api/v1/namespaces", "{'metadata':{'name':'default'}}");
	must("POST " SETS,
	     "{'metadata':{'name':'s'},'spec':{'replicas':3,'selector':{'matchLabels':{'a':"
	     "'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{"
	     "'name':'c','image':'i'}]}}}}");
	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'p','labels':{'a':'b'},'ownerReferences':[{"
		"'apiVersion':'apps/v1','kind':'ReplicaSet','name':'s','uid':'%s',"
		"'controller':true}]},'spec':{'nodeName':'n','containers':[{'name':'c',"
		"'image':'i'}]}}",
		kube_text(kept.rig->body, "metadata.uid"));
	must("POST " PODS, body);
	must("POST " PDB,
	     "{'metadata':{'name':'b'},'spec':{'maxUnavailable':1,'selector':{"
	     "'matchLabels':{'a':'b'}}}}");
	must("POST " EVENTS,
	     "{'metadata':{'name':'e'},'involvedObject':{'namespace':'default'}}");
	must("POST " EVENTS,
	     "{'metadata':{'name':'f'},'involvedObject':{'namespace':'default'}}");
	return &kept;
}

/* What is to be done is done in some turns, or later. */
static void run(int turns)
{
	for (int i = 0; i < turns; i++) {
		(void)event_base_loop(kept.rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		(void)poll(NULL, 0, i > 5 ? 1 : 0);
	}
}

static int keep_budgets(void *arg, struct neap_error *err)
{
	int ret = neap_kube_budgets_new(kept.rig->kube, &kept.budgets, err);

	(void)arg;
	if (ret == 0)
		run(20);
	return ret;
}

static int expire(void *arg, struct neap_error *err)
{
	struct neap_kube_expire_config config = {.ttl_s = 3600, .count_max = 1};
	int ret = neap_kube_expire_new(kept.rig->kube, &config, &kept.expire, err);

	(void)arg;
	if (ret == 0)
		run(20);
	return ret;
}

static int bootstrap(void *arg, struct neap_error *err)
{
	int ret = neap_kube_bootstrap(kept.rig->kube, err);

	(void)arg;
	run(10);
	return ret;
}

static bool is_so(const char *ask, int status, const char *want)
{
	return kube_ask(kept.rig, ask, NULL) == status &&
	       (want == NULL || kube_differs(kept.rig->body, want) == NULL);
}

/* again: what somebody does meanwhile. A write that was accepted may have failed later,
 * and more than once. */
static void until(const char *ask, int status, const char *want, void (*again)(void))
{
	for (int i = 0; i < 200; i++) {
		kube_run(kept.rig, 20);
		again();
		if (is_so(ask, status, want))
			return;
	}
	torture_fail("%s: %s", ask, kube_text(kept.rig->body, "message"));
}

static void nothing(void)
{
}

/* A deletion that failed is asked for again some time later. */
static void time_passes(void)
{
	kube_now += INT64_C(1000000);
}

/* As at the next start. */
static void start_again(void)
{
	struct neap_error err;

	(void)neap_kube_bootstrap(kept.rig->kube, &err);
}

static void check_budgets(void *arg, int rc)
{
	struct neap_error err;

	(void)arg;
	if (rc < 0 && neap_kube_budgets_new(kept.rig->kube, &kept.budgets, &err) < 0)
		torture_fail("%s", err.msg);
	until("GET " PDB "/b", 200, "status.expectedPods=3", nothing);
}

static void check_expire(void *arg, int rc)
{
	struct neap_kube_expire_config config = {.ttl_s = 3600, .count_max = 1};
	struct neap_error err;

	(void)arg;
	if (rc < 0 &&
	    neap_kube_expire_new(kept.rig->kube, &config, &kept.expire, &err) < 0)
		torture_fail("%s", err.msg);
	until("GET " EVENTS "/e", 404, NULL, time_passes);
	until("GET " EVENTS "/f", 200, NULL, nothing);
}

static void check_bootstrap(void *arg, int rc)
{
	(void)arg, (void)rc;
	until("GET /api/v1/namespaces/kube-system", 200, NULL, start_again);
	until("GET /apis/scheduling.k8s.io/v1/priorityclasses", 200, "#items=2",
	      start_again);
}

static void teardown(void *state)
{
	void *rig = kept.rig;

	(void)state;
	neap_kube_budgets_free(kept.budgets);
	neap_kube_expire_free(kept.expire);
	(void)kube_rig_teardown(&rig);
}

#define ROW(what, act_, check_)                                                          \
	{                                                                                \
		.name = "keep: " what, .setup = setup, .act = act_, .check = check_,     \
		.teardown = teardown, .is_lossy = true                                   \
	}

const struct torture torture_keep[] = {
	ROW("budgets", keep_budgets, check_budgets),
	ROW("age of events", expire, check_expire),
	ROW("from the start", bootstrap, check_bootstrap),
	{0},
};
