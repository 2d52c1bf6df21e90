/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of another server through a proxy that does everything wrong: when there is
 * peace, it shows just what the server has; no write was done that was said to have
 * failed, none was done twice, and none that was said to be done is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "t/lib/patience.h"
#include "t/lib/remote_rig.h"
#include "t/lib/rude_proxy.h"

#define SEEDS  3
#define WRITES 60
#define PODS   "/api/v1/namespaces/default/pods"

static struct remote_rig remote;
static struct rude_proxy *proxy;
static int tried[RUDE_FATES];

static int teardown(void **state)
{
	remote_rig_stop(&remote);
	if (proxy != NULL)
		rude_proxy_free(proxy);
	proxy = NULL;
	return kube_rig_teardown(state);
}

static void start(struct kube_rig *rig, uint64_t seed, int rude)
{
	char url[64];

	proxy = rude_proxy_new(rig->base, rig->port, seed, rude);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", rude_proxy_port(proxy));
	remote_rig_start(&remote, rig, url);
}

static json_t *make_pod(const char *name, const char *prefix)
{
	return json_pack("{s:{s:s*, s:s*}, s:{s:[{s:s, s:s}]}}", "metadata", "name", name,
			 "generateName", prefix, "spec", "containers", "name", "c",
			 "image", "i");
}

static struct neap_client_ask ask_of(const char *name, struct remote_rig_told *told)
{
	return (struct neap_client_ask){.resource = "pods",
					.ns = "default",
					.name = name,
					.told = remote_rig_told,
					.arg = told};
}

/* Objects of the server whose names begin so. */
static int count_of(struct kube_rig *rig, const char *prefix)
{
	const json_t *items, *item;
	size_t i;
	int count = 0;

	assert_int_equal(kube_ask(rig, "GET " PODS, NULL), 200);
	items = kube_at(rig->body, "items");
	json_array_foreach (items, i, item)
		count += strncmp(kube_text(item, "metadata.name"), prefix,
				 strlen(prefix)) == 0;
	return count;
}

/* Somebody else changes the server meanwhile. */
static void disturb(struct kube_rig *rig, int i)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/other-%d", i % 7);
	if (kube_ask(rig, ask, "{'metadata':{'labels':{'a':'b'}}}") == 404) {
		char body[256];

		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'other-%d'},'spec':{'containers':[{"
			       "'name':'c','image':'i'}]}}",
			       i % 7);
		(void)kube_ask(rig, "POST " PODS, body);
	} else if (i % 3 == 0) {
		(void)snprintf(ask, sizeof(ask),
			       "DELETE " PODS "/other-%d?gracePeriodSeconds=0", i % 7);
		(void)kube_ask(rig, ask, NULL);
	}
}

static void one_seed(struct kube_rig *rig, uint64_t seed)
{
	static struct remote_rig_told named[WRITES], drawn[WRITES];
	struct neap_client_ask ask;
	int done = 0, unknown = 0;
	char name[32];

	start(rig, seed, 250);
	for (int i = 0; i < WRITES; i++) {
		(void)snprintf(name, sizeof(name), "named-%d", i);
		named[i] = drawn[i] = (struct remote_rig_told){0};
		ask = ask_of(name, &named[i]);
		neap_client_create_take(remote.client, &ask, make_pod(name, NULL));
		ask = ask_of(NULL, &drawn[i]);
		neap_client_create_take(remote.client, &ask, make_pod(NULL, "drawn-"));
		disturb(rig, i);
		kube_run(rig, 2);
		if (i % 20 == 0)
			rude_proxy_cut_all(proxy);
	}
	for (int i = 0; i < WRITES; i++) {
		(void)remote_rig_answer(&remote, &named[i]);
		(void)remote_rig_answer(&remote, &drawn[i]);
		done += drawn[i].object != NULL;
		unknown += drawn[i].is_unknown;
	}
	rude_proxy_calm(proxy);
	for (int i = 0; i < WRITES; i++) {
		char path[64];
		int status;

		(void)snprintf(path, sizeof(path), "GET " PODS "/named-%d", i);
		status = kube_ask(rig, path, NULL);
		if (named[i].object != NULL)
			assert_int_equal(status, 200);
		else if (!named[i].is_unknown)
			assert_int_equal(status,
					 named[i].reason == NEAP_CLIENT_ALREADY_EXISTS
						 ? 200
						 : 404);
		(void)neap_object_unref(named[i].object);
		(void)neap_object_unref(drawn[i].object);
	}
	assert_in_range(count_of(rig, "drawn-"), done, done + unknown);
	remote_rig_wait_same(&remote, "pods");
	remote_rig_wait_same(&remote, "namespaces");
	for (int i = 0; i < RUDE_FATES; i++)
		tried[i] += rude_proxy_counts(proxy)[i];
}

static void test_everything(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		one_seed(*state, seed);
		remote_rig_stop(&remote);
		rude_proxy_free(proxy);
		proxy = NULL;
		assert_int_equal(kube_ask(*state, "DELETE " PODS, NULL), 200);
		kube_run(*state, 50);
	}
	/* Each of its ways was tried; else the test is none. */
	for (int i = 0; i < RUDE_FATES; i++)
		assert_true(tried[i] > 0);
}

/* A server that takes connections and says nothing: what was asked of it comes to an end,
 * and when it speaks again all goes on. */
static void test_cut(void **state)
{
	struct kube_rig *rig = *state;

	start(rig, 1, 0);
	for (int i = 0; i < 5; i++) {
		rude_proxy_hang(proxy, true);
		rude_proxy_cut_all(proxy);
		disturb(rig, i);
		kube_run(rig, 20);
		rude_proxy_hang(proxy, false);
		disturb(rig, i + 1);
		remote_rig_wait_same(&remote, "pods");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_everything, kube_rig_setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_cut, kube_rig_setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
